"""One replica in the plainest way: one SimPy timeout per step, one object per request, lists walked from end to end.

Written from docs/explanation/engine.md and the docstring of `StepCost` alone, to have something to compare the compiled kernel with.
Slow on purpose: no jumps, no counters that a scan of a list could give. The prefix cache is in a file of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

import simpy

from sim.engine.deployment import EngineLimits, StepCost
from tests.oracle.prefix_cache import NO_PREFIX, THE_CACHE_RULES, CacheRules, Entry, Prefix, PrefixCache


@dataclass(frozen=True)
class Rules:
    """The rules of engine.md; another value is a deliberate mistake that the comparison with the kernel must notice."""

    arrivals_before_step_ends: bool = True
    block_tokens: int = 16
    decode_block_slack: int = 0  # a decode asks for a block when (computed + slack) is a multiple of 16
    victim: str = "last admitted"  # or "oldest"; of the lowest priority
    victim_has_lowest_priority: bool = True
    queue_by_priority: bool = True
    preempted_go_to: str = "front"  # or "end"
    admit_after_preemption: bool = False
    overtaking: bool = False
    route_ties_to: str = "lowest"  # or "highest"
    watermark_rounds: str = "down"  # or "up"
    looks_when_idle: bool = True  # a scheduler that decides ahead does not wait for a step when none runs
    cache: CacheRules = THE_CACHE_RULES


THE_RULES = Rules()


@dataclass(eq=False)
class Sequence:
    """A request inside a replica; times are those of the replica, without the network."""

    index: int
    input_tokens: int
    output_tokens: int
    generated: int = 0
    target: int = 0
    computed: int = 0
    blocks: int = 0
    first_ps: int = -1
    finish_ps: int = -1
    preemptions: int = 0
    priority: int = 0  # lower goes first
    prefix: Prefix = NO_PREFIX
    holds: bool = False  # its system prompt, in use on the replica
    entry: Entry | None = None  # what it has left in the prefix cache
    cached_tokens: int = -1  # found at its first admission
    seen: bool = False  # by a scheduler that decides one step ahead

    def __post_init__(self) -> None:
        self.target = self.input_tokens

    @property
    def is_partial(self) -> bool:
        return self.computed < self.target


@dataclass(frozen=True)
class Step:
    """What one step computes: the decodes, and (sequence, tokens) of each prefill chunk."""

    decodes: list[Sequence]
    chunks: list[tuple[Sequence, int]]

    def duration_ps(self, cost: StepCost) -> int:
        """`StepCost`, spelled out: base[T] + sequence * n + context[D] * S + pair * P + prefill_context * C."""
        tokens = len(self.decodes) + sum(c for _, c in self.chunks)
        sequences = len(self.decodes) + len(self.chunks)
        context = sum(seq.computed + 1 for seq in self.decodes)
        pairs = sum(c * seq.computed + c * (c + 1) // 2 for seq, c in self.chunks)
        prefill_context = sum(seq.computed + c for seq, c in self.chunks)
        return (
            int(cost.base_ps[tokens])
            + cost.sequence_ps * sequences
            + int(cost.context_ps[len(self.decodes)]) * context
            + cost.pair_ps * pairs
            + cost.prefill_context_ps * prefill_context
        )


class Replica:
    """One scheduler loop. `arrive` hands it a sequence; `on_finish` is called for each one that ends."""

    def __init__(
        self,
        env: simpy.Environment,
        cost: StepCost,
        kv_blocks: int,
        limits: EngineLimits,
        on_finish: Callable[[Sequence], None] = lambda seq: None,
        rules: Rules = THE_RULES,
    ) -> None:
        self.env, self.cost, self.kv_blocks, self.limits = env, cost, kv_blocks, limits
        self.on_finish, self.rules = on_finish, rules
        share = limits.watermark * kv_blocks
        self.watermark_blocks = int(share) if rules.watermark_rounds == "down" else -int(-share // 1)
        self.waiting: list[Sequence] = []
        self.running: list[Sequence] = []
        self.steps = 0
        self.busy_ps = 0
        self.preemptions = 0
        self.partial_preemptions = 0
        self.computed_tokens = 0
        self.used_block_ps = 0  # blocks in use, integrated over time
        self.running_ps = 0  # sequences running, integrated over time
        self.peak_blocks = 0
        self.cache = PrefixCache(rules.cache) if limits.prefix_caching else None
        self.wake = env.event()
        env.process(self.run())

    @property
    def used(self) -> int:
        held = self.cache.held_blocks() if self.cache else 0
        return held + sum(seq.blocks + self.cost.sequence_blocks for seq in self.running)

    @property
    def available(self) -> int:
        """Blocks that no one uses: free ones, and cached ones, which are given up when they are needed."""
        return self.kv_blocks - self.used

    def take_block(self, seq: Sequence) -> None:
        if self.cache and self.available == self.cache.cached:
            self.cache.evict()
        seq.blocks += 1

    def leave(self, seq: Sequence) -> None:
        """`seq` has stopped running; its blocks are free or cached."""
        self.running.remove(seq)
        if self.cache:
            self.cache.leave(seq)
        seq.blocks = 0

    def blocks_for(self, tokens: int) -> int:
        return -(-tokens // self.rules.block_tokens)

    def blocks_wanted(self, seq: Sequence) -> int:
        """Blocks that must be available for an admission; a system prompt in use is there already."""
        held = self.cache is not None and self.cache.is_held(seq)
        return self.cost.sequence_blocks + self.blocks_for(seq.target) - (seq.prefix.system_blocks if held else 0)

    def can_ever_hold(self, seq: Sequence) -> bool:
        """Whether the last context of `seq` fits an empty replica."""
        most = self.kv_blocks - self.watermark_blocks - self.cost.sequence_blocks
        return self.blocks_for(seq.input_tokens + seq.output_tokens - 1) <= most

    def arrive(self, seq: Sequence) -> None:
        self.enqueue(seq, behind_its_equals=True)
        if not self.wake.triggered:
            self.wake.succeed()

    def enqueue(self, seq: Sequence, behind_its_equals: bool) -> None:
        """By priority; inside a priority at the end, or at the front."""
        ahead = [s for s in self.waiting if s.priority < seq.priority or (behind_its_equals and s.priority == seq.priority)]
        if not self.rules.queue_by_priority:
            ahead = list(self.waiting) if behind_its_equals else []
        self.waiting.insert(len(ahead), seq)

    def run(self) -> Generator[simpy.Event, None, None]:
        while True:
            if not self.waiting and not self.running:
                self.wake = self.env.event()
                yield self.wake
            step = self.build()
            start = int(self.env.now)
            self.peak_blocks = max(self.peak_blocks, self.used)
            yield self.env.timeout(step.duration_ps(self.cost))
            self.steps += 1
            lasted_ps = int(self.env.now) - start
            self.busy_ps += lasted_ps
            self.used_block_ps += lasted_ps * (self.used)
            self.running_ps += lasted_ps * len(self.running)
            self.apply(step)
            assert self.available >= (self.cache.cached if self.cache else 0)
            assert all(not seq.is_partial for seq in self.running[:-1]), "only the last admitted sequence can be partial"

    def build(self) -> Step:
        """Decodes, then the partial sequence, then admissions."""
        idle = self.rules.looks_when_idle and not self.running and not any(seq.seen for seq in self.waiting)
        if not self.limits.async_scheduling or idle:
            self.look()
        step = self.chosen()
        self.look()  # what has come by now is for the next step
        return step

    def look(self) -> None:
        for seq in self.waiting:
            seq.seen = True

    def chosen(self) -> Step:
        preempted = self.preemptions
        decodes = self.take_decodes()
        budget = self.limits.max_num_batched_tokens - len(decodes)
        chunks: list[tuple[Sequence, int]] = []
        unfinished = False
        for seq in self.running:
            if seq.is_partial:
                c = min(seq.target - seq.computed, budget)
                assert c >= 1
                chunks.append((seq, c))
                budget -= c
                unfinished = seq.computed + c < seq.target
        if not unfinished and (self.preemptions == preempted or self.rules.admit_after_preemption):
            chunks += self.admit(budget)
        return Step(decodes, chunks)

    def take_decodes(self) -> list[Sequence]:
        """The decodes of this step, oldest first, each with the block that its new token needs."""
        decodes = []
        for seq in [seq for seq in self.running if not seq.is_partial]:
            if seq not in self.running:
                continue  # preempted by an older one
            if (seq.computed + self.rules.decode_block_slack) % self.rules.block_tokens == 0:
                while self.available == 0 and seq in self.running:
                    self.preempt(self.victim())
                if seq not in self.running:
                    continue
                self.take_block(seq)
            decodes.append(seq)
        return [seq for seq in decodes if seq in self.running]

    def victim(self) -> Sequence:
        lowest = max(seq.priority for seq in self.running)
        candidates = [seq for seq in self.running if seq.priority == lowest or not self.rules.victim_has_lowest_priority]
        return candidates[-1 if self.rules.victim == "last admitted" else 0]

    def preempt(self, seq: Sequence) -> None:
        self.partial_preemptions += seq.is_partial
        self.leave(seq)
        seq.computed = 0
        seq.target = seq.input_tokens + seq.generated
        seq.preemptions += 1
        seq.seen = True
        self.preemptions += 1
        self.enqueue(seq, behind_its_equals=self.rules.preempted_go_to == "end")

    def admit(self, budget: int) -> list[tuple[Sequence, int]]:
        """Chunks of the sequences that leave the queue now, first come first served."""
        chunks = []
        for seq in list(self.waiting):
            if len(self.running) >= self.limits.max_num_seqs or budget <= 0:
                break
            if not seq.seen:
                continue
            keep_free = self.watermark_blocks if self.running else 0
            if self.blocks_wanted(seq) > self.available - keep_free:
                if self.rules.overtaking:
                    continue
                break
            self.waiting.remove(seq)
            self.running.append(seq)
            if self.cache:
                self.cache.reuse(seq)
                while self.available < self.cache.cached:  # what it holds next to its tokens
                    self.cache.evict()
            while seq.blocks < self.blocks_for(seq.target) - (seq.prefix.system_blocks if seq.holds else 0):
                self.take_block(seq)
            c = min(seq.target - seq.computed, budget)
            chunks.append((seq, c))
            budget -= c
        return chunks

    def apply(self, step: Step) -> None:
        """The effects of a step, all at its end: decodes in the order of their index, then the chunks."""
        for seq in sorted(step.decodes, key=lambda seq: seq.index):
            seq.computed += 1
            self.computed_tokens += 1
            self.generate(seq)
        for seq, c in step.chunks:
            seq.computed += c
            self.computed_tokens += c
            if seq.computed == seq.target:
                if self.cache:
                    self.cache.end_prefill(seq)
                self.generate(seq)

    def generate(self, seq: Sequence) -> None:
        now = int(self.env.now)
        seq.generated += 1
        if seq.first_ps < 0:
            seq.first_ps = now
        if seq.generated == seq.output_tokens:
            seq.finish_ps = now
            self.leave(seq)
            self.on_finish(seq)
