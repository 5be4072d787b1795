# `make plan` sets up and answers the question; `make test` sets up and passes every test. Both need only Python 3.11 or newer.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Byte code is kept: without it every start of an interpreter compiles a thousand files anew, which takes a second.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: plan test test-relay test-deploy test-track setup lint docs bench slow clean audit

plan: setup
	$(BIN)/python cli.py optimize scenarios/million_dau.yaml

test: setup lint
	$(BIN)/python -m pytest -n 2 --dist loadfile

slow: setup
	$(BIN)/python -m pytest -m slow

# A real relay product, the LiteLLM proxy, in an environment of its own before mock upstreams: the probe is tried on it, and the
# gateway's configuration of `servemix deploy`. Skipped with a message offline.
RELAY_VENV := .venv-relay
test-relay test-deploy: setup
	test -x $(RELAY_VENV)/bin/litellm || { $(PYTHON) -m venv $(RELAY_VENV) \
	  && $(RELAY_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --timeout 20 --retries 2 "litellm[proxy]>=1.100,<2" prometheus_client; } \
	  || echo "$@: LiteLLM cannot be installed (no network?); its tests are skipped"
	SERVEMIX_LITELLM=$(RELAY_VENV)/bin/litellm timeout 600 $(BIN)/python -m pytest -rs $(TESTS_OF_$@)
TESTS_OF_test-relay := tests/probe/test_litellm.py
TESTS_OF_test-deploy := tests/optimize/deploy

# A real Prometheus server before the queries of `servemix track`. Give SERVEMIX_PROMETHEUS where it is not on the PATH (promtool stands next to it).
test-track: setup
	command -v "$${SERVEMIX_PROMETHEUS:-prometheus}" > /dev/null || echo "$@: Prometheus is not installed (Debian: apt-get install prometheus); its test is skipped"
	timeout 600 $(BIN)/python -m pytest -rs tests/optimize/track

lint: setup
	$(BIN)/ruff check .
	$(BIN)/mypy

# Pages and files that are made from the code; a test says when they are stale.
docs: setup
	$(BIN)/python -m sim.scenario.reference docs/reference/scenario.md
	$(BIN)/python -m optimize.tables.catalogue_reference docs/reference/catalogue.md
	$(BIN)/python -m optimize.report.terminal.render_reference > docs/reference/plan-tables.md

# Pinned versions against published advisories, by a tool in an environment of its own; needs the network, so it is no part of `make test`.
# Exit code 75 of the tool (make shows it): no service of advisories answered.
AUDIT_VENV := .venv-audit
audit:
	test -x $(AUDIT_VENV)/bin/pip-audit || { $(PYTHON) -m venv $(AUDIT_VENV) \
	  && $(AUDIT_VENV)/bin/python -m pip install --quiet --disable-pip-version-check "pip-audit>=2.7,<3"; } || true
	$(BIN)/python -m benchmarks.advisories $(AUDIT_VENV)/bin/pip-audit

bench: setup
	$(BIN)/python benchmarks/speed.py

setup: $(VENV)/.ready

$(VENV)/.ready: requirements.txt requirements-dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "ServeMix needs Python 3.11 or newer; set PYTHON=python3.12, say")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

clean:
	rm -rf $(VENV) $(RELAY_VENV) $(AUDIT_VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis build *.egg-info
