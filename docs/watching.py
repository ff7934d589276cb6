"""Draw docs/watching.png: a plant of eight sensors, three of which fail in turn, and what a monitor says."""

from pathlib import Path

from eigenstream.io.example_files import FAULTS, ROWS, SENSORS
from eigenstream.monitoring import MonitoredModel, MonitorSettings
from eigenstream.plotting import draw_control
from eigenstream.streams import plant


def main() -> None:
    model = MonitoredModel(MonitorSettings(confirm=(2, 3)), standardize=True)
    model.features = SENSORS
    for batch in plant(ROWS, faults=FAULTS, random_state=0):
        model.judge_many(batch)
    for alarm in model.alarms_:
        blamed, share = alarm.contributors[0]
        end = "the new normal" if alarm.accepted else "over"
        print(f"rows {alarm.began} to {alarm.last}, index {alarm.peak:.1f}, {blamed} {share:.0%}: {end}")
    figure = draw_control(model.control_history_, "a plant with three faults")
    figure.savefig(Path(__file__).with_name("watching.png"), metadata={"Software": None})


if __name__ == "__main__":
    main()
