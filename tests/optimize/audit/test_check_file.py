"""`check` says in a few lines what a log or a benchmark file holds."""

from __future__ import annotations

import json
from pathlib import Path

from optimize.audit.check_file import check_file
from optimize.audit.invoice_file import read_invoice


def test_a_log_is_told_in_ten_lines(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = [f"2026-05-10 {k // 30:02d}:{2 * (k % 30):02d}:00,{100 + k},20" for k in range(90)]
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "\n".join([*rows, "broken,1,1", "2026-05-10 03:00:00,x,1"]) + "\n")
    found = check_file(path)
    assert found.kind == "log" and len(found.facts) <= 10
    text = "\n".join(found.facts)
    assert "90 requests in 2.97 h from Sun 2026-05-10 00:00 UTC" in text and "prompts: mean 144 tokens" in text and "lost: 2.2%" in text


def test_a_benchmark_file_is_told_by_run(tmp_path: Path) -> None:
    path = tmp_path / "point.json"
    point = {"tp": 1, "conc": 8, "isl": 100, "osl": 50, "output_tput_per_gpu": 500.0, "median_ttft": 0.2, "median_tpot": 0.01}
    path.write_text(json.dumps(point))
    (fact,) = check_file(path).facts
    assert "8 in flight" in fact and "10 ms TPOT" in fact and "200 ms TTFT" in fact


def test_an_invoice_may_say_null(tmp_path: Path) -> None:
    path = tmp_path / "focus.csv"
    path.write_text(
        "BilledCost,BillingCurrency,ServiceName,ResourceId,ConsumedQuantity,ConsumedUnit\n12.5,USD,Inference,NULL,NULL,NULL\n0.5,USD,Tax,\\N,,\n"
    )
    invoice = read_invoice(path, "USD")
    assert invoice.total == 13.0 and invoice.rows[0].names == ("Inference",)
