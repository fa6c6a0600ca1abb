# What each plug-in is, for mypy and editors: the module itself imports a plug-in when it is used.
from rmqlab_tools import show as show
from rmqlab_tools.cli.cli import start as start
from rmqlab_tools.course.check import check as check
from rmqlab_tools.course.mutants import broken as broken
from rmqlab_tools.course.progress import guess as guess
from rmqlab_tools.course.progress import progress as progress
from rmqlab_tools.course.quiz import quiz as quiz
from rmqlab_tools.doctor.doctor import doctor as doctor
from rmqlab_tools.doctor.evidence.door import explain as explain
from rmqlab_tools.extras import need as need
from rmqlab_tools.live.index_file import FileIndexService as FileIndexService
from rmqlab_tools.live.serve import serve as serve
from rmqlab_tools.recordings.recording_reader import read_runs as read_runs
from rmqlab_tools.recordings.store import write_store as write_store
from rmqlab_tools.search.explorer.exploration import Exploration as Exploration
from rmqlab_tools.search.explorer.explore import Explorer as Explorer
from rmqlab_tools.search.explorer.timings import NETWORK_TIMING as NETWORK_TIMING
from rmqlab_tools.search.explorer.timings import NetworkChooser as NetworkChooser
from rmqlab_tools.search.expressions.examine import looks_like_sql92 as looks_like_sql92
from rmqlab_tools.search.expressions.remarks import ExpressionWarning as ExpressionWarning
from rmqlab_tools.search.expressions.remarks import doubts as doubts
from rmqlab_tools.search.expressions.remarks import warn as warn
from rmqlab_tools.search.expressions.scenario_doubts import refused as refused
from rmqlab_tools.show.fate_grid import fate_grid as fate_grid
from rmqlab_tools.show.figure import Picture as Picture
from rmqlab_tools.show.film.film import Film as Film
from rmqlab_tools.show.film.film import film as film
from rmqlab_tools.show.link import Link as Link
from rmqlab_tools.show.ribbons import ribbons as ribbons
from rmqlab_tools.show.rule_differences import rules_between as rules_between
from rmqlab_tools.show.run_tables import fate_counts as fate_counts
from rmqlab_tools.show.run_tables import fate_table as fate_table
from rmqlab_tools.show.slot_timeline import slot_timeline as slot_timeline
from rmqlab_tools.show.swimlane import swimlane as swimlane
from rmqlab_tools.show.tables import Table as Table
from rmqlab_tools.show.waiting_lines import waiting_line as waiting_line
from rmqlab_tools.show.way import way_table as way_table
from rmqlab_tools.spark import Room as Room
from rmqlab_tools.spark import read_store as read_store
from rmqlab_tools.spark.archive_store import archive as archive
from rmqlab_tools.spark.archive_store import match as match
from rmqlab_tools.spark.audit_store import audit as audit
from rmqlab_tools.spark.matrix.matrix import matrix as matrix
from rmqlab_tools.spark.sweeps.runner import sweep as sweep
from rmqlab_tools.verbs import explore as explore
from rmqlab_tools.verbs import lint as lint
from rmqlab_tools.verbs import plan as plan
from rmqlab_tools.verbs import replay as replay
from rmqlab_tools.verbs import reproduce as reproduce
from rmqlab_tools.verbs import simulate as simulate
from rmqlab_tools.verbs import sql92 as sql92
from rmqlab_tools.verbs import tags as tags

FRONT_DOOR: dict[str, str]
WITHIN: dict[str, str]
spark: Room
