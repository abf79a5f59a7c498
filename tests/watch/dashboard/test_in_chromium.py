"""The dashboard as a visitor sees it: driven in a real, headless Chromium."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("nicegui")

from tools.chromium import Browser, Tab
from websockets import Origin
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from game_files import put_game
from runs import outcomes
from understudy.cli import main
from understudy.learner.loop import LearnerLoop
from understudy.ledger.connection import Ledger
from understudy.run.lock import StopRequest
from understudy.run.remarks import read_remarks
from understudy.rundir import RunDir
from understudy.settings import Settings
from understudy.watch.dashboard import pages
from understudy.watch.dashboard.pages import TABS
from understudy.watch.metrics import all_metrics
from watch.dashboard.served import dashboard, learn, learned_run
from watch.prepared import set_status

pytestmark = pytest.mark.slow

TOKEN = "a token that nobody guesses"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunDir:
    return learned_run(tmp_path_factory.mktemp("runs") / "first")


@pytest.fixture(scope="module")
def address(run: RunDir) -> Iterator[str]:
    empty = run.root.parent / "empty"
    empty.mkdir()
    with dashboard(str(run.root), str(empty)) as address:
        yield address


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Tab:
    return browser.open(f"{address}/run/first")


def tile(name: str) -> str:
    return f'[data-tile="{name}"]'


def stage(name: str) -> str:
    return f'[data-box="{name}"]'


def test_the_overview_shows_the_true_numbers_of_a_run(page: Tab, address: str) -> None:
    page.go(f"{address}/run/first")
    page.wait_for_text("Games learned from")
    assert page.text(tile("Games learned from")).split("\n") == [
        "Games learned from",
        "6",
        "last 6 own: 4 won, 1 lost, 1 tied",
    ]
    assert page.text(tile("Win rate")).split("\n")[:2] == ["Win rate", "75 %"]  # (4 + 1/2) / 6
    assert page.text(tile("Decisions learned")).split("\n") == ["Decisions learned", "72", "3 batches"]
    assert page.text(tile("Rejected")).split("\n")[1] == "1"
    assert [page.text(f"{stage(name)} .count") for name in ("game", "buffer", "learner", "model")] == [
        "6",
        "0",
        "3",
        "v4",
    ]
    assert page.evaluate("document.querySelector('[data-health]').dataset.health") == "grey"
    page.wait_for_text("Finished, ", "[data-health]")
    page.wait_for_text("Start the bot again, or learn without it: understudy learn", "[data-health]")
    assert page.complaints == []


def test_every_request_of_every_page_goes_to_the_dashboard_itself(page: Tab, address: str) -> None:
    for tab in TABS:
        page.go(f"{address}/run/first/{tab}")
        page.wait_for("document.querySelectorAll('main .card').length > 0")
    ours = (address, address.replace("http", "ws"), "data:")
    assert [url for url in page.requested if not url.startswith(ours)] == []
    assert len(page.requested) > 20
    assert page.complaints == []


def test_a_game_that_arrives_is_shown_without_a_reload(page: Tab, address: str, run: RunDir) -> None:
    page.go(f"{address}/run/first")
    page.wait_for(f"document.querySelector('{stage('buffer')} .count')?.innerText === '0'")
    page.evaluate("window.same = true")
    game = put_game(run.buffer, 77)
    page.wait_for(f"document.querySelector('{stage('buffer')} .count').innerText === '1'")
    page.wait_for("document.querySelector('[data-health]').dataset.health === 'red'")  # it waits, and nobody learns
    learn(run)
    page.wait_for(f"document.querySelector('{stage('model')} .count').innerText === 'v5'")
    page.wait_for(f"document.querySelector('{tile('Games learned from')} .value').innerText === '7'")
    assert page.evaluate("window.same")
    assert (run.archive / game.name).exists()


def test_the_table_is_filtered_and_a_game_opens_with_its_decisions(page: Tab, address: str, run: RunDir) -> None:
    count = sum(outcomes(run).values())
    page.go(f"{address}/run/first/games")
    page.wait_for_text(f"{count} of {count} games")
    page.type("input[placeholder]", "zerg")
    page.wait_for_text(f"2 of {count} games")
    page.click(".games a[data-game]")
    page.wait_for_text("Every decision")
    text = page.text("main")
    assert "Opponent race\nZerg\n" in text
    assert "Difficulty\nHard\n" in text
    assert (
        "Computed with version 1, which played; the recorded probabilities of the actions taken differ" in text
    )  # the test's games say 1/3 each
    labels = page.evaluate("[...document.querySelectorAll('main .chart text')].map(t => t.textContent)")
    assert {"LEFT", "RIGHT", "STAY", "decision"} <= set(labels)
    rows = page.evaluate("document.querySelectorAll('main .long tbody tr').length")
    assert rows == 12
    assert page.complaints == []


def test_what_a_file_says_is_shown_as_text_and_never_run(page: Tab, address: str, run: RunDir) -> None:
    bad = run.rejected / "game_20260102_000000_Defeat_eeee.npz"
    bad.write_bytes(b"")
    reason = "<img src=x onerror=window.hit=1><script>window.hit=1</script>"
    bad.with_name(f"{bad.name}.reason.json").write_text(json.dumps({"file": bad.name, "reason": reason}))
    page.go(f"{address}/run/first/games")
    page.wait_for_text("onerror=window.hit", ".games")
    assert page.evaluate("window.hit") is None
    bad.unlink()


def test_rolling_back_asks_first_then_publishes_and_is_logged(page: Tab, address: str, run: RunDir) -> None:
    page.go(f"{address}/run/first/models")
    page.click('[data-version="2"]')
    page.wait_for_text("Roll back to version 2?")
    page.click(".ask .button:not(.confirm)")
    page.wait_for("!document.querySelector('.ask')")
    with Ledger(run.ledger, read_only=True) as ledger:
        before = ledger.head()
    assert before is not None
    page.click('[data-version="2"]')
    page.click(".ask .confirm")
    page.wait_for_text(f"Version 2 is published again, as version {before + 1}.")
    page.wait_for(f"document.querySelector('[data-fact=Version]').innerText.endsWith('{before + 1}')")
    with Ledger(run.ledger, read_only=True) as ledger:
        newest = ledger.versions(newest=1)[0]
    assert (newest.version, newest.parent, newest.publisher) == (before + 1, 2, "rollback")
    assert "Request: roll back" in run.log.read_text(encoding="utf-8")
    assert "the dashboard (127.0.0.1)" in run.log.read_text(encoding="utf-8")


def test_runs_stand_side_by_side_and_an_empty_one_says_what_to_do(page: Tab, address: str, run: RunDir) -> None:
    page.go(f"{address}/")
    page.wait_for_text("first", "[data-run=first]")
    assert page.text("[data-run=first] [data-figure=Games] .value") == str(outcomes(run)["learned"])
    page.click("[data-run=empty]")
    page.wait_for("location.pathname === '/run/empty'")
    page.wait_for_text("Start a bot with this run: ", "[data-health]")
    assert page.text(f"{stage('model')} .what") == "the bot makes the first one"
    assert "learns from each game exactly once" in page.text(".explanation")
    assert [page.text(f"{stage(name)} .count") for name in ("game", "buffer", "learner", "model", "bot")] == [
        *("0", "0", "0", "–", "–")
    ]
    page.go(f"{address}/run/empty/machine")
    buttons = "[...document.querySelectorAll('.choices .button')].map(b => b.hasAttribute('disabled') && b.title)"
    page.wait_for("document.querySelectorAll('.choices .button').length === 2")
    assert page.evaluate(buttons) == ["No learner is running."] * 2


def test_a_learner_is_paused_and_resumed_from_the_page(page: Tab, address: str, run: RunDir) -> None:
    request = StopRequest()
    thread = threading.Thread(target=lambda: LearnerLoop(run, Settings()).run(request))
    thread.start()
    try:
        page.go(f"{address}/run/first/machine")
        page.wait_for_text("running")
        page.click(".choices .button:not([disabled])")
        page.wait_for_text("Pause the learner?")
        page.click(".ask .confirm")
        page.wait_for_text("paused by request of the dashboard (127.0.0.1)")
        page.wait_for_text("Resume", ".choices")
        page.wait_for("!document.querySelector('.ask')")
        page.click(".choices .button")
        page.click(".ask .confirm")
        page.wait_for("!document.body.innerText.includes('paused by request')")
        page.wait_for("!document.querySelector('.ask')")
        page.click(".choices .danger")
        page.wait_for_text("Stop the learner?")
        page.click(".ask .confirm")
        page.wait_for_text("The learner was asked to stop.")
        thread.join(60)
        assert not thread.is_alive()  # it was asked to stop, and did
    finally:
        request.stop()
        thread.join(20)
    assert "Request: stop" in run.log.read_text(encoding="utf-8")


RECORD = "V2.2\nPI\n+\n+7776FU\n'** 30\n'policy value=+0.100 7g7f=0.5000\n-3334FU\n%TORYO\n"
PICTURES = ".nicegui-echart, .heats, .top-moves"
UNEXPLAINED = f"""[...document.querySelectorAll('{PICTURES}')].filter(picture => {{
    const head = picture.closest('.card')?.querySelector('.head');
    return !(head?.querySelector('.why') && head.querySelector('.unit')?.innerText.trim());
}}).map(picture => picture.closest('.card')?.innerText ?? picture.outerHTML)"""


def test_every_chart_of_every_page_says_its_unit_and_has_an_explanation(page: Tab, address: str, run: RunDir) -> None:
    record = run.root / "game.csa"
    record.write_text(RECORD, "utf-8")
    game = next(run.archive.glob("*.npz")).name
    shown = {"/": 4, f"/run/first/game/archive/{game}": 4} | {f"/run/first/{tab}": 0 for tab in TABS}
    shown |= {"/run/first/learning": 12, "/run/first/results": 7, "/run/first/machine": 3, "/run/first/shogi": 2}
    for path, charts in shown.items():
        page.go(f"{address}{path}")
        page.wait_for("document.querySelectorAll('main .card').length > 0")
        page.wait_for(f"document.querySelectorAll('{PICTURES}').length >= {charts}")
        assert page.evaluate(UNEXPLAINED) == [], path
    record.unlink()


def test_the_board_shows_what_was_thought_when_a_move_was_played(page: Tab, address: str, run: RunDir) -> None:
    pytest.importorskip("cshogi")
    record = run.root / "game.csa"
    record.write_text(RECORD, "utf-8")
    page.go(f"{address}/run/first/shogi")
    page.wait_for_text("When it was played, Black thought (value for Black +0.10):")
    assert page.text(".top-move").split() == ["７六歩(77)", "50", "%", "played"]
    page.click('[aria-label="forward"]')
    page.wait_for_text("The record does not say what its player thought here.")
    page.click('[aria-label="last"]')
    page.wait_for_text("The game has ended.")
    assert page.complaints == []
    record.unlink()


def test_a_position_that_is_typed_is_shown_turned_and_copied(page: Tab, address: str, run: RunDir) -> None:
    pytest.importorskip("cshogi")
    record = run.root / "game.csa"
    record.write_text(RECORD, "utf-8")
    page.go(f"{address}/run/first/shogi")
    page.wait_for_text("Move 0 of")
    type_in(page, "nonsense")
    page.wait_for_text("nonsense")
    type_in(page, "startpos moves 7g7f 3c3d")
    page.wait_for_text("Move 2 of 2: △３四歩(33)")
    page.wait_for_text("Your line ends here.")
    type_in(page, "２二角成")
    page.wait_for_text("Move 3 of 3: ▲２二角成(88)")
    page.click('[aria-label="kanji or letters"]')
    page.wait_for_text("Move 3 of 3: 8h2b+")
    above = "document.querySelector('.shogi .hand').innerText"
    assert "White" in page.evaluate(above)
    page.click('[aria-label="turn the board"]')
    page.wait_for(f"{above}.includes('Black')")
    page.click('[aria-label="copy the position (SFEN)"]')
    page.wait_for_text("The SFEN of the position was copied.")
    page.click('[aria-label="copy the game (KIF)"]')
    page.wait_for_text("The game was copied as KIF.")
    assert page.complaints == []
    record.unlink()


def type_in(page: Tab, text: str) -> None:
    """Type into the board's field, and press Enter."""
    page.wait_for("""document.querySelector('[aria-label="position or move"]')""")
    page.evaluate("""document.querySelector('[aria-label="position or move"]').focus()""")
    page.evaluate("document.activeElement.select()")
    page.command("Input.insertText", text=text)
    for kind in ("keyDown", "keyUp"):
        page.command("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13)


def test_charts_are_made_in_one_place_only() -> None:
    """In `chart_card`, which demands a metric: a chart that is made elsewhere would have no explanation."""
    folder = Path(pages.__file__).parent
    assert [file.name for file in folder.glob("*.py") if "echart(" in file.read_text(encoding="utf-8")] == ["parts.py"]


def test_charts_have_units_and_explain_their_metric_on_hover(page: Tab, address: str) -> None:
    page.go(f"{address}/run/first/learning")
    page.wait_for("document.querySelectorAll('.chart svg text').length > 20")
    heads = page.evaluate("[...document.querySelectorAll('.card .head')].map(h => h.innerText.split('\\n'))")
    assert ["Entropy", "nats"] in heads
    assert ["Staleness", "versions"] in heads
    where = page.evaluate(
        "(() => { const h = [...document.querySelectorAll('.card .why')].find(h => h.innerText === 'Entropy');"
        " const r = h.getBoundingClientRect(); return [r.x + 5, r.y + 5] })()"
    )
    page.command("Input.dispatchMouseEvent", type="mouseMoved", x=where[0], y=where[1])
    page.wait_for_text(all_metrics()["entropy"].otherwise)


def test_the_axis_and_the_smoothing_of_all_charts_can_be_chosen(page: Tab, address: str) -> None:
    page.go(f"{address}/run/first/learning")
    names = "[...document.querySelectorAll('.chart svg text')].map(t => t.textContent)"
    page.wait_for(f"{names}.includes('model version')")
    for field, choice in (("Axis", "decisions learned from"), ("Smoothing", "smoothed over 5 points")):
        page.click(f'.controls [aria-label="{field}"]')
        where = f"[...document.querySelectorAll('.q-menu .q-item')].find(i => i.innerText === '{choice}')"
        page.wait_for(f"Boolean({where})")
        page.evaluate(f"{where}.click()")
        page.wait_for("!document.querySelector('.q-menu')")
    page.wait_for(f"{names}.includes('decisions learned from') && !{names}.includes('model version')")
    assert page.complaints == []


def test_the_latest_games_show_their_opponents(page: Tab, address: str) -> None:
    page.go(f"{address}/run/first")
    page.wait_for_text("Opponent")
    heads = page.evaluate("[...document.querySelectorAll('th')].map(cell => cell.innerText)")
    assert heads == ["Ended", "Result", "Opponent", "Folder", "Size"]
    shown = page.evaluate("[...document.querySelectorAll('tbody td:nth-child(3)')].map(cell => cell.innerText)")
    assert {"Zerg Hard"} <= set(shown)


def test_the_theme_can_be_chosen_and_is_remembered(page: Tab, address: str) -> None:
    page.go(f"{address}/run/first")
    dark = "document.body.classList.contains('body--dark')"
    page.wait_for(f"!{dark}")
    page.click("button.theme")
    page.wait_for(dark)
    page.wait_for("document.cookie.includes('understudy_theme=dark')")
    page.go(f"{address}/run/first/learning")
    page.wait_for(dark)
    page.click("button.theme")
    page.wait_for(f"!{dark}")
    assert "understudy_theme=dark" not in page.evaluate("document.cookie")


@pytest.mark.parametrize("tab", TABS)
def test_nothing_is_wider_than_a_phone(page: Tab, address: str, tab: str) -> None:
    page.resize(390, 800)
    page.go(f"{address}/run/first/{tab}")
    page.wait_for("document.querySelectorAll('main .card').length > 0")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.resize(1280, 900)


def test_every_tab_can_be_reached_on_a_phone_without_scrolling_sideways(page: Tab, address: str) -> None:
    page.resize(390, 800)
    page.go(f"{address}/run/first")
    page.wait_for("document.querySelectorAll('.tab').length >= 6")
    outside = "[...document.querySelectorAll('.tab')].filter(t => t.getBoundingClientRect().right > innerWidth).length"
    assert page.evaluate(outside) == 0
    page.resize(1280, 900)


def test_self_play_without_games_on_disk_says_where_its_results_are(browser: Browser, tmp_path: Path) -> None:
    run = RunDir.at(tmp_path / "alone")
    assert main(["selfplay", "drift", "--run-dir", str(run.root), "--updates", "3"]) == 0
    unusual = [{"feature": "wind", "value": 1e9, "game": f"game_{'0123456789abcdef' * 4}.npz"}]
    on_stage = {"sentence": "v3, the newest version, is on stage."}
    set_status(run, heartbeat_age=60, outliers=unusual, outliers_at=time.time() - 60, state="stopped", gate=on_stage)
    with dashboard(str(run.root)) as address:
        page = browser.open(f"{address}/run/alone", 390, 800)
        page.wait_for_text("0123456789abcdef")
        assert page.evaluate("document.documentElement.scrollWidth") == 390  # long names are broken
        assert f"understudy selfplay drift --run-dir {run.root}" in page.text("[data-health]")
        assert page.text("[data-progress] .stage") == on_stage["sentence"]
        assert "Self-play logs requests and problems" in page.text()
        page.go(f"{address}/run/alone/results")
        page.wait_for_text("It appears when a version is evaluated")
        assert page.evaluate("document.querySelector('.empty [data-copy]').dataset.copy") == (
            f"understudy evaluate {run.root}"
        )
        page.go(f"{address}/run/alone/games")
        page.wait_for_text("Self-play learns from its games in memory")
        assert page.complaints == []


def test_a_command_is_copied_with_its_real_names(page: Tab, address: str, run: RunDir) -> None:
    page.go(f"{address}/run/first")
    page.evaluate("navigator.clipboard.writeText = async text => { window.copied = text }")
    page.click("[data-health] [data-copy]")
    assert page.wait_for("window.copied") == f"understudy learn {run.root}"
    assert page.complaints == []


def test_a_note_is_written_and_shown_as_text(page: Tab, address: str, run: RunDir) -> None:
    page.go(f"{address}/run/first")
    page.wait_for_text("No notes yet")
    page.type(".note-input input", "<img src=x onerror=window.noted=1> half the learning rate")
    page.evaluate("[...document.querySelectorAll('button')].find(b => b.innerText === 'Add note').click()")
    page.wait_for_text("onerror=window.noted=1> half the learning rate", ".notes")
    assert page.evaluate("window.noted") is None
    assert [note.by for note in read_remarks(run)] == ["the dashboard (127.0.0.1)"]
    page.go(f"{address}/run/first/models")
    page.wait_for_text("training.learning_rate")


def test_an_address_that_does_not_exist_gets_a_page_that_helps(page: Tab, address: str) -> None:
    for path in ("/nothing", "/run/other", "/run/first/nothing", "/run/first/game/archive/gone.npz"):
        assert status(f"{address}{path}") == 404
        page.go(f"{address}{path}")
        page.wait_for_text("There is no such page")
        assert page.evaluate("[...document.querySelectorAll('li a')].map(a => a.pathname)") == [
            "/run/first",
            "/run/empty",
        ]
    code, body = raw_get(address, "/run/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert code == 404
    assert "<script>" not in body
    page.click("li a")
    page.wait_for_text("Is it working?")


def test_the_pages_have_an_icon_of_their_own(page: Tab, address: str) -> None:
    page.go(f"{address}/run/first")
    assert page.evaluate("document.querySelector('link[rel~=icon]').href").startswith("data:image/svg")


def test_a_link_to_a_game_follows_it_into_the_archive(page: Tab, address: str, run: RunDir) -> None:
    learned = next(run.archive.glob("*.npz")).name
    page.go(f"{address}/run/first/game/buffer/{learned}")
    assert page.wait_for("location.pathname") == f"/run/first/game/archive/{learned}"
    page.wait_for_text(learned, "h1")


def test_prometheus_gets_its_text(address: str, run: RunDir) -> None:
    with urllib.request.urlopen(f"{address}/metrics") as answer:
        text = answer.read().decode()
    assert f'understudy_model_version{{run="{run.root}"}}' in text


def test_a_foreign_host_is_refused_for_pages_and_for_the_websocket(address: str) -> None:
    assert status(address, Host="evil.example") == 403
    assert status(address, Origin="http://evil.example") == 403
    assert status(address) == 200
    socket_address = address.replace("http", "ws") + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
    with pytest.raises(InvalidStatus, match="403"), connect(socket_address, origin=Origin("http://evil.example")):
        pass
    with connect(socket_address, origin=Origin(address)) as connection:
        assert str(connection.recv(timeout=5)).startswith("0{")


@pytest.mark.parametrize(
    "path",
    [
        "/run/first/game/archive/..%2f..%2f..%2fsecret.npz",
        "/run/first/game/archive/../../../secret.npz",
        "/run/first/game/..%2f../secret.npz",
        "/run/first/game/archive/link.npz",
        "/run/..%2f..%2fsecret.npz",
        "/../secret.npz",
        "/_nicegui/../../../../../../../../etc/passwd",
        "/run/first/game/live/x.journal",
    ],
)
def test_no_path_outside_the_runs_can_be_read(address: str, run: RunDir, path: str) -> None:
    secret = put_game(run.root.parent, 5)
    secret.rename(run.root.parent / "secret.npz")
    link = run.archive / "link.npz"
    if not link.is_symlink():
        link.symlink_to(run.root.parent / "secret.npz")
    code, body = raw_get(address, path)
    assert code == 404
    assert "decision" not in body
    assert "root:" not in body


def test_where_a_token_is_set_only_who_knows_it_gets_in(browser: Browser, run: RunDir) -> None:
    with dashboard(str(run.root), UNDERSTUDY_DASHBOARD_TOKEN=TOKEN) as address:
        assert status(address) == 401
        assert status(f"{address}/metrics", Authorization="Bearer wrong token, wrong token") == 401
        assert status(f"{address}/metrics", Authorization=f"Bearer {TOKEN}") == 200
        socket_address = address.replace("http", "ws") + "/_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        with pytest.raises(InvalidStatus, match="403"), connect(socket_address, origin=Origin(address)):
            pass
        page = browser.open(address)
        page.type("input[name=token]", "not this one, not this one")
        page.click("button")
        page.wait_for_text("That is not the token.")
        page.type("input[name=token]", TOKEN)
        page.click("button")
        page.wait_for_text("Games learned from")


def status(address: str, **headers: str) -> int:
    try:
        with urllib.request.urlopen(urllib.request.Request(address, headers=headers)) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def raw_get(address: str, path: str) -> tuple[int, str]:
    """A GET of exactly this path: clients for people tidy up dots before they ask."""
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return int(answer.split()[1]), answer.decode(errors="replace")
