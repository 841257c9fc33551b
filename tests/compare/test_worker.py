"""Signals that come while a worker process is started."""

import signal

import pytest

from reweigh.compare import worker


def test_none_is_left_blocked_if_one_more_comes_at_the_end(monkeypatch):
    before = {each: signal.getsignal(each) for each in worker.SIGNALS}
    set_handler, interrupted = signal.signal, []

    def and_one_more(number, handler):
        found = set_handler(number, handler)
        if not interrupted:
            interrupted.append(number)
            raise KeyboardInterrupt
        return found

    def start():
        with worker._signals_later():
            monkeypatch.setattr(worker.signal, "signal", and_one_more)

    with pytest.raises(KeyboardInterrupt):
        start()
    monkeypatch.undo()
    assert interrupted
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, []) & set(worker.SIGNALS)
    assert {each: signal.getsignal(each) for each in worker.SIGNALS} == before
