"""How a pool's state lies in the arrays that the kernel works on: indices and codes, no behaviour."""

# Columns of `table` (ENDED: first of the list of finished rows); behind them stand base_ps[0..max_tokens] and context_ps[0..max_seqs].
# PROMPTS: the first record of `links` that is a system prompt; SYSTEMS: how many there are per replica; SLACK: of session affinity;
# LEVELS: number of priorities; AHEAD: 1 where a step is decided on while the one before it runs;
# EXTRA: blocks that a sequence holds next to those of its tokens.
KV_BLOCKS, WATERMARK, MAX_SEQS, MAX_TOKENS, SEQUENCE_PS, PAIR_PS, PREFILL_PS, ROUTER, NEXT, ERROR, ENDED = range(11)
CACHING, PROMPTS, SYSTEMS, SLACK, LEVELS, CONTEXT, AHEAD, EXTRA, HEADER = range(11, 20)
WAKE, OUTSTANDING = 0, 1  # rows of `front`
IDLE, RUN, STEP = 0, 1, 2  # kinds of segment: nothing, k decode steps (blocks not yet taken), one step (blocks taken)
NEVER = 2**63 - 1
NO_LIMIT = 2**62
NO_PROGRESS, CLOCK_OVERFLOW = 1, 2  # table[ERROR]
FINISHED_STATUS, REJECTED_STATUS = 0, 1  # sim.engine.pool.Status
ROW_BITS = 31
ROW_MASK = 2**31 - 1
MAX_COUNT = 2**31
LONGEST_RUN_PS = 1e18
NO_ROW = -2
