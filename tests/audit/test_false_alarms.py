"""Tables and sentences of real papers that look like a slip and are none: nothing is said of them.

Each is a shape that a real paper printed, with made numbers.
"""

import pytest

from memrepro.audit import audit_tables
from memrepro.audit.finding import CERTAIN, LIKELY
from memrepro.audit.rules.text.sentences import OF_TEXT


def failing(columns, rows, level=LIKELY, **reading):
    found = audit_tables({"t": {"columns": columns, "rows": rows, **reading}}).failing(level)
    return [(f.rule, f.where, f.sure) for f in found]


NUMBERS = [f"{0.61 + 0.037 * i:.3f}" for i in range(8)]
BEST = "The best is bold"
CLEAN = {
    "a number of clients in the head of a correlation": (
        ["N=10, rho"],
        {"a": ["0.809"], "b": ["0.913"], "c": ["0.264"], "mean": ["0.744"], "d": ["0.952"],
         "mean (2)": ["0.815"]},
        {"n": {"N=10, rho": 10}, "caption": "Agreement with the exact value"},
    ),
    "a Δ that is the range of four windows": (
        ["M=28", "M=21", "M=14", "M=7", "ΔDSC"],
        {f"x{i}": [f"{b + 3.1 + i:.1f}", f"{b + 2.2 + up:.1f}", f"{b + 1.3:.1f}", f"{b:.1f}",
                   f"{max(3.1 + i, 2.2 + up):.1f}"]
         for i, (b, up) in enumerate(
            [(61.2, 0), (48.4, 3.3), (77.7, 0), (50.9, 0), (83.1, 6.4), (66.6, 0)])},
        {},
    ),
    "a Δ of which most are from one number to another": (
        ["Base", "Ours", "Δ"],
        {name: [f"{low:.2f}", f"{low + by:.2f}",
                f"{by:.2f}" + f"-{by + 0.02:.2f}" * (name not in "dg")]
         for name, low, by in zip("abcdefgh", (0.81, 0.71, 0.61, 0.51, 0.55, 0.44, 0.40, 0.31),
                                  (0.04, 0.05, 0.03, 0.08, 0.06, 0.03, 0.03, 0.05), strict=True)}
        | {"g": ["0.40", "0.43", "0.05"]},
        {},
    ),
    "an interval of the standardized estimate": (
        ["Estimates", "Std. Est.", "95% CI"],
        {"a": ["0.001", "0.03", "0.01, 0.05"], "b": ["-0.19", "-0.19", "-0.36, -0.02"],
         "c": ["0.1", "0.10", "0.03, 0.18"], "d": ["0.01", "0.01", "-0.13, 0.14"]},
        {},
    ),
    "a p in a cell that is corrected, as the caption says": (
        ["Mean", "Test"],
        {"a": ["3.1", "t(28) = 2.10, p = 0.09"], "b": ["2.2", "t(28) = 2.20, p = 0.07"]},
        {"caption": "Tests, p by Bonferroni"},
    ),
    "100 % of which the others are parts": (
        ["Count", "% of Total"],
        {"High": ["804", "15.7%"], "Medium": ["1,743", "34.0%"], "Low": ["2,587", "50.4%"],
         "Total": ["5,134", "100%"]},
        {"n": 1566, "n_source": "the caption"},
    ),
    "observations beside a difference": (
        ["Main", "Left out", "Difference"],
        {f"x{i}": [f"{0.81 + i * 0.37:.2f}", f"{0.43 + i * 0.17:.2f}", f"{0.38 + i * 0.2:.2f}"]
         for i in range(9)} | {"Observations": ["2135", "307", "2442"]},
        {},
    ),
    "a subject that is called a reduction": (
        ["A", "B", "C", "D", "E", "F"],
        {"Golden Hour, Q1": ["2.0", "1.0", "1.0", "2.0", "1.0", "1.0"],
         "Golden Hour, Q2": ["3.0", "1.0", "1.0", "2.0", "1.0", "0.0"],
         "Golden Hour, Q3": ["1.0", "0.0", "0.0", "0.0", "0.0", "1.0"],
         "Harm Reduction, Q4": ["1.0", "0.0", "0.0", "0.0", "4.0", "1.0"],
         "Control, Q5": ["3.0", "0.6", "0.8", "0.2", "0.0", "1.0"]},
        {},
    ),
    "a method that is called Diff, in columns of few values": (
        ["Batch", "Rate", "Decay", "Batch (2)", "Rate (2)", "Decay (2)"],
        {"A, Auto": ["8", "1e-5", "0.01", "4", "2e-5", "0.1"],
         "A, Diff": ["8", "1e-5", "0.01", "4", "1e-5", "0.1"],
         "A, Manual": ["4", "2e-5", "0.01", "4", "2e-5", "0.01"],
         "B, Auto": ["4", "2e-5", "0.01", "4", "2e-5", "0.01"],
         "B, Diff": ["4", "1e-5", "0.01", "8", "1e-5", "0.01"],
         "B, Manual": ["4", "2e-5", "0.01", "4", "2e-5", "0.01"],
         "C, Auto": ["8", "1e-5", "0.01", "8", "2e-5", "0.1"]},
        {},
    ),
    "rates of counts that are all of each other": (
        ["Submissions", "Decisions", "Parse rate"],
        {"2018": ["935", "923", "1.000"]}
        | {str(year): ["1000", "1000", "1.000"] for year in range(2019, 2025)},
        {},
    ),
    "a median of a ratio beside medians": (
        ["Cases", "Deaths", "Ratio (%)"],
        {"a": ["832,000 (726,000-995,000)", "2450 (2220-2700)", "0.3"],
         "b": ["208,000 (179,000-244,000)", "2440 (2220-2700)", "1.2"],
         "c": ["138,000 (119,000-162,000)", "2440 (2220-2680)", "1.8"],
         "d": ["92,800 (80,200-109,000)", "2440 (2210-2700)", "2.6"],
         "e": ["104,000 (90,400-123,000)", "2450 (2230-2700)", "2.3"]},
        {},
    ),
    "the best of each row among the columns of one head": (
        ["A, w", "A, x", "A, y", "A, z", "B, w", "B, x", "B, y", "B, z"],
        {"16": ["84.2", "89.4", "80.5", "88.0", "38.0", "46.7", "42.5", "37.2"],
         "100": ["97.1", "96.3", "90.8", "96.3", "44.9", "47.0", "51.4", "59.7"],
         "1000": ["98.0", "98.7", "97.0", "99.0", "66.5", "67.5", "66.8", "67.7"]},
        {"bold": {"16": ["A, x", "B, x"], "100": ["A, w", "B, z"], "1000": ["A, z", "B, z"]},
         "caption": "The top two are highlighted in bold and underlined fonts."},
    ),
    "a bold number below one in grey": (
        ["A", "B", "C", "D", "E"],
        {"old": ["0.41", "0.52", "0.63", "0.77", "0.99"],
         "x": ["0.43", "0.54", "0.64", "0.78", "0.81"],
         "ours": ["0.51", "0.62", "0.73", "0.87", "0.85"]},
        {"bold": {"ours": ["A", "B", "C", "D", "E"]}, "grey": {"old": ["E"]}, "caption": BEST},
    ),
    "marks along rows that no caption explains": (
        ["A", "B", "C"],
        {f"x{i}": ["0.31", "0.52", f"0.{60 + i}"] for i in range(5)}
        | {"y": ["0.61", "0.52", "0.33"]},
        {"bold": {f"x{i}": ["C"] for i in range(5)} | {"y": ["B"]}},
    ),
    "three of four bold ones, which no caption explains": (
        ["A", "B", "C", "D"],
        {"x": ["0.41", "0.52", "0.63", "0.77"], "y": ["0.51", "0.62", "0.73", "0.75"],
         "z": ["0.45", "0.42", "0.43", "0.76"]},
        {"bold": {"y": ["A", "B", "C"], "z": ["D"]}},
    ),
    "an overall of two groups of which one is larger": (
        ["Assisted", "Unassisted", "Overall"],
        {f"share {i}": [f"0.{10 + 7 * i}", f"0.{14 + 7 * i}", f"0.{12 + 7 * i}"] for i in range(9)}
        | {"bronze": ["0.22", "0.35", "0.27"], "households": ["3.73", "4.59", "8.32"]},
        {},
    ),
    "stars of which no note says what stands in brackets": (
        ["(1)", "(2)"],
        {f"x{i}": [f"{0.3 + i / 10:.2f} (0.10)", f"{0.4 + i / 10:.2f} (0.11)"] for i in range(4)}
        | {"effect": ["0.14 (0.02)", "0.52 (0.10)"]},
        {"stars": {f"x{i}": {"(1)": 3 - (i == 0), "(2)": 3} for i in range(4)}
         | {"effect": {"(2)": 3}}},
    ),
    "rows of two units": (
        ["Acc A", "Acc B"],
        {"BLEU": ["30.81", "28.87"], "F1": ["0.48", "0.57"], "chrF": ["55.10", "54.20"],
         "TER": ["0.52", "0.49"]},
        {"n": {"Acc A": 40, "Acc B": 50}, "n_source": "the caption"},
    ),
    "settings that look like shares": (
        ["Acc", "crop_pct", "img size"],
        {f"model {i}": [NUMBERS[i], crop, "224"] for i, crop in enumerate(
            ["0.875", "0.900", "0.950", "0.875", "0.965", "0.900", "1.000", "0.875"])},
        {},
    ),
    "one count that is not 0, and shares of something else": (
        ["Negatives", "Share"],
        {"a": ["62,264", "8.43%"], "b": ["0", "0%"], "c": ["0", "0%"], "d": ["0", "0%"]},
        {},
    ),
    "a caption's n that is of something else": (
        ["Tamil", "Telugu"],
        {"a": ["5.4", "8.2"], "b": ["2.5", "5.1"], "c": ["30.3", "17.2"], "d": ["16.4", "13.9"]},
        {"caption": "Top words (n = 10)", "n": {"Tamil": 10, "Telugu": 10},
         "n_source": "the caption"},
    ),
    "the total of percentages and of means": (
        ["Share (%)", "Mean age"],
        {"A": ["45.2", "30.1"], "B": ["39.9", "41.0"], "C": ["12.7", "52.3"],
         "Total": ["38.8", "41.6"]},
        {},
    ),
    "a matrix": (
        ["A", "B", "C", "Overall"],
        {"A": ["1.00", "0.31", "0.22", "0.61"], "B": ["0.31", "1.00", "0.40", "0.12"],
         "C": ["0.22", "0.40", "1.00", "0.78"], "Overall": ["0.61", "0.12", "0.78", "1.00"]},
        {"caption": "Correlation of accuracies"},
    ),
    "bold estimates whose intervals are clear of 0": (
        ["Rain", "Winter", "Summer"],
        {f"compound {i}": [f"0.{4 + i}1 (0.{3 + i}2 - 0.{5 + i}0)",
                           f"0.{i + 2}5 (-0.10 - 0.{5 + i}0)",
                           f"0.{i + 5}2 (0.{i + 3}4 - 0.{i + 7}0)"] for i in range(3)},
        {"bold": {f"compound {i}": ["Rain"] for i in range(3)}, "caption": BEST},
    ),
    "bold estimates whose p is below 0.05": (
        ["Coefficient", "GMR", "p-value"],
        {"none": ["0.000", "1.00", ""], "low": ["-0.009", "0.99", "0.833"],
         "moderate": ["0.207", "1.23", "<0.001"], "high": ["0.023", "1.02", "0.727"],
         "moderate less low": ["0.216", "1.24", "0.001"],
         "high less low": ["0.032", "1.03", "0.676"]},
        {"bold": {"moderate": ["Coefficient", "GMR"], "moderate less low": ["Coefficient"]},
         "caption": BEST},
    ),
    "a floor below the bold": (
        ["Floor", "Erased", "Ours"],
        {f"{m}, {task}": [floor, other, ours] for m in "ABCD" for task, floor, other, ours in (
            ("one", "0.550", "0.656", "0.550"), ("two", "0.530", "0.722", "0.558"),
            ("three", "0.510", "0.757", "0.524"))},
        {"bold": {f"{m}, {task}": ["Ours"] for m in "ABCD" for task in ("one", "two", "three")},
         "caption": BEST},
    ),
    "a column that is bold throughout": (
        ["A", "B", "Ours"],
        {"a": ["0.51", "0.42", "0.61"], "b": ["0.52", "0.41", "0.63"],
         "c": ["0.50", "0.44", "0.62"], "d": ["0.55", "0.40", "0.64"],
         "e": ["0.57", "0.43", "0.54"]},
        {"bold": {row: ["Ours"] for row in "abcde"}, "caption": BEST},
    ),
    "an all of which two groups are a part": (
        ["Eu", "EU", "All"],
        {f"share {i}": [f"0.{21 + 5 * i}", f"0.{25 + 5 * i}", f"0.{23 + 5 * i}"] for i in range(9)}
        | {"towns": ["0.36", "0.35", "0.15"], "cities": ["0.41", "0.42", "0.63"]},
        {},
    ),
    "a geometric mean, and wins, ties and losses": (
        ["F1", "G-Mean", "Accuracy", "LE"],
        {f"model {i}": [NUMBERS[i], f"{0.2 + 0.09 * i:.3f}", NUMBERS[7 - i], f"+{i}.{3 * i % 7}"]
         for i in range(6)}
        | {"W/T/L": ["", "", "", "7/22/10"]},
        {},
    ),
    "people and oracles above the bold": (
        ["Acc", "F1", "EM"],
        {"Human": ["0.95", "0.96", "0.91"], "BERT": ["0.61", "0.62", "0.51"],
         "Oracle retriever": ["0.99", "0.84", "0.93"], "Ours": ["0.71", "0.72", "0.61"],
         "GPT": ["0.64", "0.60", "0.60"]},
        {"bold": {"Ours": ["Acc", "F1", "EM"], "GPT": []}, "caption": BEST},
    ),
    "bold of groups of rows": (
        ["Acc", "F1", "EM"],
        {"Small, A": ["0.51", "0.42", "0.31"], "Small, B": ["0.52", "0.41", "0.33"],
         "Large, A": ["0.71", "0.62", "0.51"], "Large, B": ["0.70", "0.65", "0.54"]},
        {"bold": {"Small, B": ["Acc", "EM"], "Small, A": ["F1"], "Large, A": ["Acc"],
                  "Large, B": ["F1", "EM"]}, "caption": BEST},
    ),
    "bold of the lower rows": (
        ["Acc", "F1", "EM", "AUC"],
        {"GPT-4": ["0.81", "0.70", "0.71", "0.60"], "A": ["0.51", "0.42", "0.31", "0.40"],
         "B": ["0.52", "0.41", "0.33", "0.51"], "Ours": ["0.60", "0.71", "0.72", "0.61"]},
        {"bold": {"Ours": ["Acc", "F1", "EM", "AUC"], "B": []}, "caption": BEST},
    ),
    "ranks of a shared task": (
        ["Score"],
        {"de": ["0.71 (3/15)"], "fr": ["0.68 (5/14)"], "es": ["0.70 (2/20)"]},
        {},
    ),
    "citations behind a number": (
        ["mAP"], {"A": ["76.1 [12, 34]"], "B": ["77.4 [3, 5]"], "C": ["70.2 [80, 91]"]}, {},
    ),
    "recall at an overlap": (
        ["R@0.5", "R@0.7"], {"A": ["0.61", "0.45"], "B": ["0.58", "0.41"]}, {},
    ),
    "a macro F1": (
        ["P", "R", "F1"],
        {"a": ["0.61", "0.64", "0.58"], "b": ["0.71", "0.60", "0.59"],
         "c": ["0.55", "0.52", "0.49"]},
        {},
    ),
    "an average over tasks that are not shown": (
        ["STS", "QA", "Average"],
        {"a": ["23.4", "30.0", "41.7"], "b": ["10.0", "20.0", "35.0"], "c": ["5.0", "9.0", "27.7"],
         "d": ["15.1", "29.0", "30.5"]},
        {},
    ),
    "two averages that agree by chance": (
        ["junior", "senior", "all"],
        {"a": ["3.62", "3.71", "3.69"], "b": ["4.01", "4.02", "4.02"],
         "c": ["2.40", "2.60", "2.61"],
         "d": ["3.10", "3.12", "3.11"], "e": ["1.90", "1.92", "1.91"]},
        {},
    ),
    "columns named as a change that is of another table": (
        ["BLEU", "Δ"],
        {"a": ["23.4", "+0.3"], "b": ["25.0", "-1.1"], "c": ["20.0", "+2.4"],
         "d": ["24.4", "+0.9"]},
        {},
    ),
    "a base of each group of rows": (
        ["Parse (%)", "Δ Parse"],
        {"A, plain": ["90.2", "0.0"], "A, x": ["60.1", "-30.1"], "A, y": ["80.0", "-10.2"],
         "B, plain": ["77.0", "0.0"], "B, x": ["28.0", "-49.0"], "B, y": ["73.1", "-3.9"]},
        {},
    ),
    "changes of which the best is the nearest to 0": (
        ["A", "B", "C"],
        {f"m{i}": cells for i, cells in enumerate((
            ["-4.0", "+0.7", "0.0"], ["0.0", "+3.7", "-0.7"], ["-3.1", "-0.1", "+2.2"],
            ["+9.7", "0.0", "-1.7"]))},
        {"bold": {"m0": ["C"], "m1": ["A"], "m2": ["B"], "m3": ["B"]}, "caption": BEST},
    ),
    "a row and a column of one name": (
        ["T1", "B", "C"],
        {"T1": ["0.41", "0.52", "0.63"], "x": ["0.51", "0.42", "0.33"],
         "y": ["0.45", "0.62", "0.70"]},
        {"bold": {"x": ["T1"], "y": ["B", "C"]}, "caption": BEST},
    ),
    "a caption that says what else is bold": (
        ["A", "B", "C", "D"],
        {"x": ["0.41", "0.52", "0.63", "0.77"], "y": ["0.51", "0.62", "0.73", "0.75"],
         "z": ["0.45", "0.42", "0.43", "0.76"]},
        {"bold": {"y": ["A", "B", "C"], "z": ["D"]},
         "caption": "Bold values denote estimates whose interval is clear of zero."},
    ),
    "a bold p, which is no best": (
        ["Coef", "SE", "p"],
        {"a": ["-0.52", "0.11", "<0.001"], "b": ["-0.30", "0.10", "<0.01"],
         "c": ["2.85", "0.40", "<0.0001"], "d": ["0.04", "0.09", "0.65"]},
        {"bold": {"a": ["p"], "b": ["p"], "c": ["p"]}, "caption": BEST},
    ),
    "a mean among statistics of a column": (
        ["Value"],
        {"Minimum": ["0.2356"], "Maximum": ["0.5175"], "Range": ["0.2818"], "Mean": ["0.3444"]},
        {"n": {"Value": 27}, "n_source": "a row of the table"},
    ),
    "the sum of absolute changes": (
        ["A", "B", "Σ|Δ|"],
        {"a": ["+0", "+0", "0"], "b": ["+0", "-1", "1"], "c": ["0", "+1", "1"],
         "d": ["-2", "0", "2"],
         "e": ["+1", "-1", "2"], "f": ["+1", "+1", "2"], "g": ["-1", "0", "1"],
         "h": ["+1", "0", "1"],
         "i": ["0", "-1", "1"], "j": ["0", "+1", "1"]},
        {},
    ),
    "two columns of the same counts": (
        ["Before, n", "After, n", "After, rate"],
        {"7": ["44", "44", "97.7%"], "9": ["58", "58", "100.0%"], "11": ["48", "48", "100.0%"]},
        {},
    ),
    "shares of counts in thousands": (
        ["Made here (000s)", "Made (000s)", "Here / all (%)"],
        {"a": ["379", "5,356", "7.08"], "b": ["832", "13,633", "6.10"],
         "c": ["3,021", "9,240", "32.69"], "d": ["681", "2,971", "22.92"],
         "e": ["128", "2,560", "5.00"],
         "f": ["4", "159", "2.29"]},
        {},
    ),
    "a median beside its quartiles": (
        ["Value"],
        {"a": ["2.2 [2.0, 2.4]"], "b": ["3.1 [2.8, 3.4]"], "c": ["5.5 [5.0, 6.0]"],
         "Ferritin, median [IQR]": ["37.2 [20.0, 67.0]"]},
        {},
    ),
    "a share at the end of its scale, and the p of two shares": (
        ["Certain", "Uncertain", "Δ", "p"],
        {"a": ["0.0 [0.0, 0.4]", "11.5 [9.9, 13.1]", "+11.5", "<0.001"],
         "b": ["10.2 [9.6, 10.8]", "71.1 [69.5, 72.7]", "+60.9", "<0.001"],
         "c": ["16.4 [15.6, 17.2]", "35.2 [32.1, 38.3]", "+18.8", "<0.001"],
         "d": ["52.1 [50.8, 53.4]", "79.5 [77.2, 81.8]", "+27.4", "0.012"],
         "e": ["92.0 [90.6, 93.4]", "91.7 [89.4, 94.0]", "-0.3", "0.583"]},
        {"caption": "Estimates and their intervals"},
    ),
    "percentages of several numbers": (
        ["Group A (n=120)"],
        {"Answered": ["100 (90.1%)"], "Of these, yes": ["40 (40.0%)"],
         "Of yes, twice": ["8 (20.0%)"],
         "Missing": ["20 (16.7%)"]},
        {},
    ),
    "t statistics below the estimates": (
        ["(1)", "(2)"],
        {"x": ["0.52", "0.41"], "x, t": ["(2.61)", "(2.05)"], "z": ["0.10", "0.90"],
         "z, t": ["(0.40)", "(3.30)"]},
        {"note": "t statistics in parentheses. * p < 0.05, ** p < 0.01",
         "stars": {"x": {"(1)": 2, "(2)": 1}, "z": {"(2)": 2}}},
    ),
    "p values below the estimates": (
        ["(1)", "(2)"],
        {"x": ["4.57 (0.001)", "2.43 (0.039)"], "y": ["-0.78 (0.318)", "-0.36 (0.482)"],
         "z": ["-0.51 (0.708)", "-0.22 (0.654)"], "u": ["0.43 (0.612)", "0.28 (0.584)"],
         "v": ["0.11 (0.773)", "0.05 (0.841)"], "w": ["-0.15 (0.712)", "-0.08 (0.774)"]},
        {"stars": {"x": {"(1)": 3, "(2)": 2}}},
    ),
    "estimates and errors above a row N": (
        ["(1)", "(2)"],
        {"Performance": ["0.038 (0.003)", "0.039 (0.003)"], "Shown": ["-0.020 (0.013)", ""],
         "Constant": ["0.087 (0.016)", "0.076 (0.015)"]},
        {"n": {"(1)": 483, "(2)": 483}},
    ),
    "the growth of rounded means": (
        ["2008", "2025", "Change"],
        {"Solo": ["5,431", "6,534", "20.3%"], "2-3": ["6,271", "7,242", "15.5%"],
         "31-50": ["10,580", "12,574", "18.9%"], "101+": ["14,112", "16,859", "19.5%"]},
        {},
    ),
    "a numeric variable among whole ones": (
        ["n", "mean", "sd"],
        {"Site, integer": ["20", "14.20", "2.02"], "Age, integer": ["20", "33.55", "3.02"],
         "Type, integer": ["20", "1.45", "0.51"], "Dose, numeric": ["20", "52.43", "9.77"]},
        {},
    ),
    "an F that is a mean over runs, at most that of the means": (
        ["P", "R", "F1"],
        {"a": ["0.845 ±0.039", "0.657 ±0.047", "0.737 ±0.027"],
         "b": ["0.726 ±0.061", "0.671 ±0.230", "0.673 ±0.091"],
         **{name: [f"{p} ±0.01", f"{r} ±0.01", f"{f} ±0.01"] for name, p, r, f in (
             ("c", "0.90", "0.80", "0.85"), ("d", "0.70", "0.60", "0.65"),
             ("e", "0.50", "0.40", "0.44"), ("f", "0.95", "0.85", "0.90"),
             ("g", "0.55", "0.45", "0.50"), ("h", "0.65", "0.35", "0.46"))}},
        {},
    ),
    "ages, which are no whole numbers": (
        ["M (SD)"],
        {"a": ["23.41 (3.11)"], "b": ["24.52 (2.97)"], "c": ["22.13 (3.45)"]},
        {"n": 40, "file": "paper.tex"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLEAN)
def test_what_is_no_slip_is_not_told(name):
    columns, rows, reading = CLEAN[name]
    assert failing(columns, rows, **reading) == []
    told = audit_tables({"t": {"columns": columns, "rows": rows, **reading}}).findings
    assert [f for f in told if f.where == "not checked"] == []


def test_tables_of_two_things_that_lie_near_each_other_are_no_copies():
    heads = ["A R@5", "B R@5", "C R@5", "D R@5"]
    one = {
        f"s{i}": [f"0.{(7919 * i + 3001 * k) % 9000 + 500:04d}" for k in range(4)] for i in range(5)
    }
    other = {row: [c[0], *(f"{float(x) + 1e-4:.4f}" for x in c[1:])] for row, c in one.items()}
    tables = {"t": {"columns": heads, "rows": one}, "u": {"columns": heads, "rows": other}}
    assert [f for f in audit_tables(tables).failing(LIKELY) if f.rule == "printed twice"] == []
    # A copy with one slip is one.
    other = {**one, "s1": [*one["s1"][:3], "0.7700"]}
    tables["u"]["rows"] = other
    found = [f.where for f in audit_tables(tables).failing() if f.rule == "printed twice"]
    assert found == ["t: s1 and u: s1"]
    # Of rows that differ in one column each, that column is of another thing.
    other = {row: [*c[:3], f"{float(c[3]) / 2:.4f}" if i < 3 else c[3]]
             for i, (row, c) in enumerate(one.items())}  # fmt: skip
    tables["u"]["rows"] = other
    assert [f for f in audit_tables(tables).failing(LIKELY) if f.rule == "printed twice"] == []


def test_of_more_rows_than_every_two_of_are_compared_the_user_is_told(monkeypatch):
    monkeypatch.setattr("memrepro.audit.rules.twice._MOST", 40)
    rows = {f"s{i}": [f"0.{(7919 * i) % 9000 + 500:04d}", f"0.{(3001 * i) % 9000 + 500:04d}"]
            for i in range(41)}  # fmt: skip
    report = audit_tables({"t": {"columns": ["R@5", "R@10"], "rows": rows}})
    told = [f.found for f in report.findings if f.where == "not checked"]
    assert ["41 rows: of more than 40 " in one for one in told] == [True]
    report = audit_tables({"t": {"columns": ["R@5", "R@10"], "rows": dict(list(rows.items())[1:])}})
    assert [f for f in report.findings if f.where == "not checked"] == []


def test_an_average_that_is_of_more_or_of_averages():
    rows = {
        "a": ["0.240", "0.255", "+6.3", "0.37", "0.6", "1.6"],
        "b": ["0.225", "0.285", "+26.7", "0.31", "0.8", "2.8"],
        "c": ["0.300", "0.380", "+26.7", "0.14", "0.1", "4.1"],
        "d": ["0.365", "0.375", "+2.7", "-", "0.4", "3.4"],
        "Average": ["0.283", "0.324", "+14.5", "0.33", "0.475", "2.975"],
    }
    columns = ["Before", "After", "Change (%)", "Random", "Cost", "Size"]
    assert not failing(columns, rows)
    rows["Average"][1], rows["Average"][3] = "0.342", "0.27"
    assert ("mean of rows", "Average, After", LIKELY) in failing(columns, rows)


@pytest.mark.parametrize(
    "text",
    [
        r"Intervals of from 90\% to 95\% are usual, with 5\% left.",
        "Accuracy rises from 22.0% to 81.8%.",
        "% it rises from 0.40 to 0.50 (+90%)\nand nothing else.",
        "It rises from 40 to 50 tokens on 12% of inputs.",
        r"\begin{tabular}{ll} rises from 0.40 to 0.50 (+90\%) & 30 of 40 (10\%) \end{tabular}",
        "in version 3/2024 (12%) of the tool",
        "t(28) = 2.10, and later the other group had p = .50",
        "We set p = .9 and F(1) = 3.",
        "Bonferroni-corrected, t(40) = 2.30, p = .081",
        "one-tailed tests: t(28) = 2.20, p = .018",
        "The medians differ (U = 21.0, Z = 1.79, p = 0.048).",
        "They differ, t(21) = -3.091, p = 0.017. "
        + 60 * "So they do. "
        + "All were Benjamini-Hochberg-corrected.",
        "of three studies, with few degrees of freedom, t = -6.604, p = .008",
        r"\begin{comment} t(28) = 2.20, p = .9 \end{comment}",
    ],
)
def test_sentences_that_are_no_slip(text):
    found = [f for rule in OF_TEXT for f in rule("d", "paper.tex", text)]
    assert [f.printed for f in found if f.sure in (CERTAIN, LIKELY)] == []
