"""Plans that release the table itself."""

from discreet.tables.deniable_rows import DeniableRows, DeniableRowsPlan, deniable_rows
from discreet.tables.entropy import EntropyPlan, MutualInformationPlan, entropy, mutual_information
from discreet.tables.functional_mean import FunctionalMeanPlan, MeanCurve, functional_mean
from discreet.tables.histogram import histogram
from discreet.tables.quality import Quality, compare_tables
from discreet.tables.results import RangeHistogram, Scalar
from discreet.tables.synthesis import SynthesisPlan, SyntheticRows, synthesize

__all__ = [
    "DeniableRows",
    "DeniableRowsPlan",
    "EntropyPlan",
    "FunctionalMeanPlan",
    "MeanCurve",
    "MutualInformationPlan",
    "Quality",
    "RangeHistogram",
    "Scalar",
    "SynthesisPlan",
    "SyntheticRows",
    "compare_tables",
    "deniable_rows",
    "entropy",
    "functional_mean",
    "histogram",
    "mutual_information",
    "synthesize",
]
