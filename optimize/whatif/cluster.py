"""A Dask cluster as the place where points run; needs the optional extra `cluster`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from optimize.whatif.task import program
from sim.errors import InputError, MissingExtra
from sim.scenario.read.document import printable

CONNECT_S = 10


@contextmanager
def joined(address: str | None) -> Iterator[Any]:
    """Within, joblib sends its work to the cluster at `address`; without an address, to processes of this machine. Yields the client."""
    if address is None:
        yield None
        return
    from joblib import parallel_config

    client = connect(address)
    try:
        with parallel_config(backend="dask", client=client):
            yield client
    finally:
        client.close()


def connect(address: str) -> Any:
    """A client of the scheduler at `address`. InputError says what is missing."""
    if not re.fullmatch(r"(tcp|tls)://\S+:\d{1,5}", address):
        raise InputError(f"--cluster: {address}: is not tcp://HOST:PORT; write the address that `dask scheduler` prints")
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtra("--cluster", "distributed", "cluster") from None
    try:
        client: Any = Client(address, timeout=CONNECT_S, set_as_default=False)  # type: ignore[no-untyped-call,unused-ignore]
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"--cluster: {address}: no scheduler answers there ({reason}); start one with `dask scheduler`") from None
    if not client.scheduler_info().get("workers"):
        client.close()
        raise InputError(f"--cluster: {address}: has no workers; start one with `dask worker {address} --nthreads 1`")
    check(client, address)
    return client


def check(client: Any, address: str) -> None:
    """InputError unless scheduler and workers run the same version of this program: bytes would differ, or nothing would come back."""
    try:
        found = client.submit(program, pure=False).result(timeout=CONNECT_S)
    except Exception as error:  # whatever the other side met when it unpacked our function
        client.close()
        reason = printable(str(error).splitlines()[0] if str(error) else type(error).__name__, 200)
        tip = "install servemix[cluster] where scheduler and workers start, or start them in its folder"
        raise InputError(f"--cluster: {address}: cannot run servemix ({reason}); {tip}") from None
    if found != program():
        client.close()
        raise InputError(f"--cluster: {address}: runs another version ({found}, here {program()}); install the same on all")
