"""An alarm reaches somebody: by a command, by a web server, as often as a line about it is written."""

import json
import sys
from base64 import b64encode
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from click.testing import CliRunner

from eigenstream.cli import main
from eigenstream.jobs import AlarmEvent, Request, Watcher, prepare
from eigenstream.jobs import notices as notices_module
from eigenstream.jobs.notices import Command, NoticeError, Notices, Way, Webhook
from eigenstream.jobs.watcher import alarm_document
from eigenstream.monitoring import Alarm

EVENT = AlarmEvent("began", 7, None, 2, Alarm(6, 7, 2, counts_from=7, peak=3.0, peak_row=7, statistic="spe"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A file whose inputs go wrong twice, and a program that writes down what it is told."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 5)) * [4.0, 3.0, 0.5, 0.5, 0.5]
    X[700:710, 2] += 30.0
    X[1100:1110, 4] += 30.0
    np.savetxt("x.csv", X, delimiter=",", header="a,b,c,d,e", comments="")
    Path("note.py").write_text("import sys; open(sys.argv[1], 'a').write(sys.stdin.read())\n")
    return tmp_path


def watch(*words, code=0):
    done = CliRunner().invoke(main, ["watch", "x.csv", *words], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done


class Server:
    """A web server on this computer that answers with these statuses in turn, then with 204."""

    def __init__(self, *statuses):
        self.came, self.statuses, server = [], list(statuses), self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                content = self.rfile.read(int(self.headers["Content-Length"]))
                server.came.append((self.path, dict(self.headers), content))
                status = server.statuses.pop(0) if server.statuses else 204
                self.send_response(status)
                if 300 <= status < 400:
                    self.send_header("Location", f"{server.address}/elsewhere")
                self.end_headers()

            def log_message(self, *words):
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}"
        Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.http.shutdown()
        self.http.server_close()


def test_command_and_server_are_told_each_line(folder):
    program = f"{sys.executable} note.py 'told; touch x'"
    with Server() as server:
        done = watch("--json", "--on-alarm", program, "--webhook", f"{server.address}/alarms?x=1")
    lines = done.stdout.splitlines()
    assert sum(json.loads(line)["event"] == "alarm" for line in lines) >= 4
    assert any(json.loads(line)["event"] == "notice" for line in lines)
    assert Path("told; touch x").read_text().splitlines() == lines  # no shell has read the name
    assert [json.loads(content) for _, _, content in server.came] == list(map(json.loads, lines))
    path, headers, _ = server.came[0]
    assert (path, headers["Content-Type"]) == ("/alarms?x=1", "application/json")
    end = json.loads(done.stderr.splitlines()[-1])
    assert end["notices"] == {"told": 2 * len(lines), "failed": 0, "waiting": 0}


def test_failures_are_counted_and_stop_nothing(folder):
    said = watch("--on-alarm", f"{sys.executable} -c 'raise SystemExit(3)'", "--output", "v.csv")
    number = len(said.stdout.splitlines())
    assert number >= 4
    assert (
        f"{number} of {number} notices were not told; the last failure: its exit status was 3" in said.stderr
    )
    assert said.stderr.count("a notice was not told") == 1
    assert len(Path("v.csv").read_text().splitlines()) == 1501


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--on-alarm", "no-such-program --x"), "there is no program 'no-such-program'"),
        (("--on-alarm", "'unbalanced"), "cannot be read: No closing quotation"),
        (("--webhook", "ftp://127.0.0.1/x"), "is not an address of a web server"),
        (("--webhook", "http://127.0.0.1:port/x"), "is not an address of a web server"),
    ],
)
def test_what_cannot_be_told_at_all_is_refused_before_the_first_row(folder, words, says):
    assert says in watch(*words, "--save", "m", code=1).output
    assert not Path("m").exists()


def test_a_command_that_hangs_is_ended_with_all_it_has_started(folder):
    shell = Command("sh -c 'echo $$ > pid; sleep 60 & wait'", seconds=0.3)
    with pytest.raises(NoticeError, match=r"it had not ended after 0\.3 seconds"):
        shell.tell(b"{}\n", again=True)
    assert not any(Path("/proc", pid).exists() for pid in Path("pid").read_text().split())


def test_a_server_that_is_down_for_a_moment_is_asked_again():
    with Server(503, 429) as server:
        Webhook(server.address, pauses=(0, 0)).tell(b"{}", again=True)
        assert len(server.came) == 3
    with Server(503, 503, 503) as server, pytest.raises(NoticeError, match="it answered 503 Service"):
        Webhook(server.address, pauses=(0, 0)).tell(b"{}", again=True)
    with Server(500) as server, pytest.raises(NoticeError, match="500"):
        Webhook(server.address).tell(b"{}", again=False)


@pytest.mark.parametrize(
    ("status", "says"), [(400, "400 Bad Request"), (302, "give the address that it leads")]
)
def test_an_answer_that_will_not_change_is_not_asked_for_again(status, says):
    with Server(status, status) as server:
        with pytest.raises(NoticeError, match=says):
            Webhook(server.address, pauses=(0, 0)).tell(b"{}", again=True)
        assert len(server.came) == 1


def test_a_password_is_sent_and_never_shown():
    with Server() as server:
        hook = Webhook(server.address.replace("//", "//me:hunter2@") + "/x")
        hook.tell(b"{}", again=False)
    assert server.came[0][1]["Authorization"] == "Basic " + b64encode(b"me:hunter2").decode()
    assert "hunter2" not in hook.name


class Slow(Way):
    """Tells nothing until it may."""

    name = "slow"

    def __init__(self):
        self.may, self.told = Event(), []

    def tell(self, content, *, again):
        assert self.may.wait(60)
        self.told.append(json.loads(content))


def test_what_is_saved_as_read_has_been_told(folder):
    way, at_save = Slow(), []

    class AtSave(Watcher):
        def saving(self):
            way.may.set()

        def saved(self, samples):
            at_save.append(len(way.told))

        def alarmed(self, event):
            self.last = alarm_document(event)

    first, told = AtSave(), Notices([way])
    with prepare(Request("x.csv", parameters={"confirm": "1/1"}), save="m") as job:
        job.watchers = (first, told)
        job.run()
    assert at_save == [len(way.told)]
    assert json.loads(json.dumps(first.last)) == [one for one in way.told if one["event"] == "alarm"][-1]


def test_a_storm_is_counted_where_it_cannot_be_told(monkeypatch):
    monkeypatch.setattr(notices_module, "WAITING", 5)
    monkeypatch.setattr(notices_module, "PATIENCE", 0.0)
    way, said = Slow(), []
    storm = Notices([way], said.append)
    for _ in range(20):
        storm.alarmed(EVENT)
    storm.saving()  # does not wait for ever
    counts = storm.counts
    assert counts["failed"] >= 14
    assert sum(counts.values()) == 20
    assert len(said) == 1
    way.may.set()
    monkeypatch.setattr(notices_module, "PATIENCE", 60.0)
    storm.wait()
    assert storm.counts["told"] == len(way.told) == 20 - storm.counts["failed"]
    assert "of 20 notices were not told; the last failure: more than 5 notices wait" in storm.in_words()[0]
