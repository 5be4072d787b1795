"""Random edits of the workbook's inputs: LibreOffice and Python agree to the cent, sentences included.

The whole run is `python -m benchmarks.workbook_edits`. Needs LibreOffice Calc and a Python that has `uno`; skipped without.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.workbook_edits import run
from tests.optimize.report.test_recalculated import grown, whole_plan

PYTHON = "/usr/bin/python3"


@pytest.mark.slow
def test_ten_random_edits_equal_python_to_the_cent() -> None:
    if shutil.which("soffice") is None or not Path(PYTHON).exists():
        pytest.skip("needs soffice (LibreOffice Calc), which is not installed")
    if subprocess.run([PYTHON, "-c", "import uno"], capture_output=True, check=False).returncode:
        pytest.skip("needs a Python with uno (python3-uno), which is not installed")
    compared, sentences, wrong = run(grown(whole_plan()), 10, 7, PYTHON)
    assert wrong == [] and compared > 500 and sentences > 40
