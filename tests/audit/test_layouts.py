# ruff: noqa: E501 — sources and what is read of them stand side by side
"""Layouts that a row and a column do not tell: tables side by side, no heads, names over lines."""

import pytest

from tests.audit.test_shapes import as_read, tex

HEADS = r"\toprule Model & Acc & F1 \\ \midrule "

# Name → source, and the columns and rows of each table that a person reads in it.
LAYOUTS = {
    "two of one kind, with totals": (
        tex(r"\toprule Topic & Papers & Language & Papers \\ \midrule Tests & 5 & Python & 6 \\"
            r" Bugs & 2 & Rust & 1 \\ Total & 7 & Total & 7 \\"),
        [(["Papers"], {"Tests": ["5"], "Bugs": ["2"], "Total": ["7"]}),
         (["Papers"], {"Python": ["6"], "Rust": ["1"], "Total": ["7"]})]),
    "two below titles, heads alike": (
        tex(r"\hline \multicolumn{3}{c}{A} & \multicolumn{3}{c}{B} \\ \hline & Train & Val & & Train & Val \\"
            r"\hline one & 1.5 & 2.5 & one & 3.5 & 4.5 \\ two & 1.6 & 2.6 & nine & 3.6 & 4.6 \\"),
        [(["Train", "Val"], {"A, one": ["1.5", "2.5"], "A, two": ["1.6", "2.6"],
                             "B, one": ["3.5", "4.5"], "B, nine": ["3.6", "4.6"]})]),
    "two below titles, heads not alike": (
        tex(r"\hline \multicolumn{2}{c}{A} & \multicolumn{2}{c}{B} \\ \hline Model & Acc & Model & Loss \\"
            r"\hline x & 0.5 & y & 3.5 \\ y & 0.6 & z & 3.6 \\"),
        [(["Acc"], {"x": ["0.5"], "y": ["0.6"]}), (["Loss"], {"y": ["3.5"], "z": ["3.6"]})]),
    "two without heads": (
        tex(r"\hline $a_1$ & $-0.1 \pm 0.5$ & $b_1$ & 4.6 \\ $a_2$ & 0.5 & $b_2$ & $-16.4$ \\ \hline"),
        [(["column 2"], {"a1": ["-0.1 ± 0.5"], "a2": ["0.5"], "b1": ["4.6"], "b2": ["-16.4"]})]),
    "pairs that are compared are one": (
        tex(r"\hline First & Acc & Second & Acc \\ \hline x & 0.5 & y & 0.6 \\ x & 0.5 & z & 0.7 \\"),
        [(["Acc", "Acc (2)"], {"x, y": ["0.5", "0.6"], "x, z": ["0.5", "0.7"]})]),
    "no heads, a rule between all rows": (
        tex(r"\hline $V_{max}$ & 6 \\ \hline $W_{max}$ & 0.9 \\ \hline $C_1$ & 2 \\ \hline"),
        [(["column 2"], {"Vmax": ["6"], "Wmax": ["0.9"], "C1": ["2"]})]),
    "no heads, a section first": (
        tex(r"\hline Winner & & \\ a & 238 & 4531.2 \\ \hline b & 240 & 4519.1 \\ \hline Other & & \\"
            r"c & 237 & 4628.9 \\ \hline"),
        [(["column 2", "column 3"], {"Winner, a": ["238", "4531.2"], "Winner, b": ["240", "4519.1"],
                                     "Other, c": ["237", "4628.9"]})]),
    "a head that one rule alone tells": (
        tex(r"\hline Year & 2019 \\ \hline Papers & 12 \\ Talks & 3 \\ \hline"),
        [(["2019"], {"Papers": ["12"], "Talks": ["3"]})]),
    "a name that goes on below": (
        tex(HEADS + r"Compared + \\ \quad chains & 0.4 & 0.5 \\ \midrule Guess & 0.2 & 0.3 \\"),
        [(["Acc", "F1"], {"Compared +, chains": ["0.4", "0.5"], "Guess": ["0.2", "0.3"]})]),
    "levels that are words and numbers": (
        tex(r"& & A & B \\ \cline{2-4} & n & 934 & 935 \\ \cline{2-4} \multirow{2}{*}{Sex} & f & 556 & 548 \\"
            r"& m & 378 & 387 \\ \cline{2-4} \multirow{2}{*}{Site} & 1 & 285 & 512 \\ & 2 & 649 & 423 \\"),
        [(["A", "B"], {"n": ["934", "935"], "Sex, f": ["556", "548"], "Sex, m": ["378", "387"],
                       "Site, 1": ["285", "512"], "Site, 2": ["649", "423"]})]),
    "one head above all, in the middle": (
        tex(r"\hline & & Method & \\ \hline Data & A & B & C \\ \hline x & 0.4 & 0.5 & 0.6 \\ \hline"),
        [(["Method, A", "Method, B", "Method, C"], {"x": ["0.4", "0.5", "0.6"]})]),
    "one row of counts": (
        tex(r"\hline Books & Papers & Total \\ \hline 12 & 7 & 19 \\ \hline"),
        [(["Books", "Papers", "Total"], {"row 1": ["12", "7", "19"]})]),
    "decimals among words": (
        tex(r"\hline Field & Without X & With X \\ \hline a & up to 0.4 & 0.1 \\ b & fail (0.75) & 0.81 \\"),
        [(["Without X", "With X"], {"a": ["up to 0.4", "0.1"], "b": ["fail (0.75)", "0.81"]})]),
    "a second name over two lines, a total beside numbers, and a sentence": (
        tex(r"\toprule No & Kind & Count \\ \midrule 1 & a, b, & 5 \\ & c & \\ 2 & d & 6 \\ & "
            + "It is known of others that they are not listed here, since nobody has counted them so far, "
            r"and since they are many in each place. & \\ \midrule & Total & 11 \\", spec="llc"),
        [(["Count"], {"1, a, b, c": ["5"], "2, d": ["6"], "Total": ["11"]})]),
    "the same steps below each name": (
        tex(r"\toprule & Window & Lag & Late \\ \midrule A & 60 & 1.5 & 4 \\ & 180 & 1.6 & 4 \\ \midrule "
            r"B & 60 & 1.4 & 0 \\ & 180 & 1.3 & 0 \\"),
        [(["Lag", "Late"], {"A, 60": ["1.5", "4"], "A, 180": ["1.6", "4"], "B, 60": ["1.4", "0"],
                            "B, 180": ["1.3", "0"]})]),
    "names in brackets that repeat": (
        tex(r"\hline Region & Method & F1 \\ \hline (A) & x & 0.3 \\ (A) & y & 0.5 \\ \hline (B) & x & 0.4 \\"
            r"(B) & y & 0.6 \\ \hline (C) & x & 0.1 \\ (C) & y & 0.2 \\ \hline"),
        [(["F1"], {"(A), x": ["0.3"], "(A), y": ["0.5"], "(B), x": ["0.4"], "(B), y": ["0.6"],
                   "(C), x": ["0.1"], "(C), y": ["0.2"]})]),
    "amounts in one unit": (
        tex(r"\hline Model & Input & Cap \\ \hline a & 2,211 elements & 512 \\ b & 1 / 602 elements & 192 \\"),
        [(["Input", "Cap"], {"a": ["2,211 elements", "512"], "b": ["1 / 602 elements", "192"]})]),
    "percent signs that are not escaped": (
        "\\begin{tabular}{lcc}\n\\hline\nModel & Est. & 95% CI & p \\\\\n\\hline\nx & 1.5 & [1, 2] & 0.1 \\\\\n"
        "y & 2.5 & [2, 3] & 0.2 \\\\ % & 0.3 \\\\\n\\hline\n\\end{tabular}",
        [(["Est.", "95% CI", "p"], {"x": ["1.5", "[1, 2]", "0.1"], "y": ["2.5", "[2, 3]", "0.2"]})]),
    "an ampersand that is not escaped": (
        "\\begin{tabular}{lcc}\n\\hline\nIndex&Acc&F1 \\\\\n\\hline\nS&P & 1.5 & 7.5 \\\\\n"
        "y & 3.5 & 4.5 \\\\\nz & 5.5 & 6.5 \\\\\n\\hline\n\\end{tabular}",
        [(["Acc", "F1"], {"S&P": ["1.5", "7.5"], "y": ["3.5", "4.5"], "z": ["5.5", "6.5"]})]),
    "numbers whose last digit is masked": (
        tex(r"\hline No & ZIP & Age \\ \hline 1 & 4767* & $\leq$ 40 \\ 2 & 4767* & $\leq$ 40 \\ "
            r"3 & 4790* & $\geq$ 50 \\"),
        [(["ZIP", "Age"], {"1": ["4767*", "≤ 40"], "2": ["4767*", "≤ 40"], "3": ["4790*", "≥ 50"]})]),
    "a head and its settings between rules": (
        tex(r"\hline Setting & Value \\ \hline Loss & squared \\ \hline Speed & 12 ms (on a phone) \\ "
            r"\hline Rate & 0.1 \\ \hline"),
        [(["Value"], {"Loss": ["squared"], "Speed": ["12 ms (on a phone)"], "Rate": ["0.1"]})]),
    "a setting beside names that repeat": (
        tex(r"\hline Model & $\lambda$ & WER & Sim \\ \hline A & 0.001 & 57.3 & 0.833 \\ A & 0.01 & 54.6 & 0.836 \\ "
            r"A & 0.1 & 56.2 & 0.8 \\ A & 0.5 & 51.1 & 0.7 \\ B & 0.01 & 45.3 & 0.840 \\ "
            r"B & 0.1 & 44.3 & 0.841 \\ B & 0.5 & 43.3 & 0.9 \\ \hline"),
        [(["WER", "Sim"], {"A, 0.001": ["57.3", "0.833"], "A, 0.01": ["54.6", "0.836"], "A, 0.1": ["56.2", "0.8"],
                           "A, 0.5": ["51.1", "0.7"], "B, 0.01": ["45.3", "0.840"], "B, 0.1": ["44.3", "0.841"],
                           "B, 0.5": ["43.3", "0.9"]})]),
    "a measure beside names that repeat": (
        tex(r"\hline Model & WER & Sim \\ \hline A & 57.3 & 0.833 \\ A & 54.6 & 0.836 \\ A & 56.2 & 0.8 \\ "
            r"B & 45.3 & 0.840 \\"),
        [(["WER", "Sim"], {"A": ["57.3", "0.833"], "A (2)": ["54.6", "0.836"], "A (3)": ["56.2", "0.8"],
                           "B": ["45.3", "0.840"]})]),
    "numbers between names": (
        tex(r"\hline Model & $\epsilon$ & Method & F1 \\ "
            r"\hline \multirow{4}{*}{A} & \multirow{2}{*}{1/255} & x & 0.45 \\ & & y & 0.42"
            r" \\ & \multirow{2}{*}{2/255} & x & 0.59 \\ & & y & 0.54 \\ \hline"),
        [(["F1"], {"A, 1/255, x": ["0.45"], "A, 1/255, y": ["0.42"], "A, 2/255, x": ["0.59"],
            "A, 2/255, y": ["0.54"]})]),
    "steps below each head of several columns": (
        tex(r"\toprule & Old & \multicolumn{3}{c}{New} \\ \cmidrule{2-2} \cmidrule{3-5} & 128 & 32 & 128 & 256 \\ "
            r"\midrule x & 0.5 & 0.6"
            r" & 0.7 & 0.8 \\ y & 0.1 & 0.2 & 0.3 & 0.4 \\", spec="lcccc"),
        [(["Old, 128", "New, 32", "New, 128", "New, 256"], {"x": ["0.5", "0.6", "0.7", "0.8"], "y": ["0.1", "0.2",
            "0.3", "0.4"]})]),
    "a total of all, below names of two columns": (
        tex(r"\hline State & Code & Sites \\ \hline Bavaria & BY & 13 \\ Hesse & HE & 65 \\ Saxony & SN & 606 \\ "
            r"& Total & 684 \\"),
        [(["Sites"], {"Bavaria, BY": ["13"], "Hesse, HE": ["65"], "Saxony, SN": ["606"], "Total": ["684"]})]),
    "struts, degrees, and digits that are white": (
        tex(r"\hline & S(90\arcdeg) & n \bigstrut\\ \hline x & 0.5 & 4.54 \bigstrut[t]\\ "
            r"y & 0.6 & -\textcolor{white}{0} \\"),
        [(["S(90°)", "n"], {"x": ["0.5", "4.54"], "y": ["0.6", ""]})]),
    "a percent sign that is a comment": (
        "\\begin{tabular}{lcc}\n\\hline\nModel & Acc & F1 \\\\\n\\hline\nx & 1.5 % & 7.5 \\\\\n& 2.5 \\\\\n"
        "y & 3.5 & 4.5 \\\\\n\\hline\n\\end{tabular}",
        [(["Acc", "F1"], {"x": ["1.5", "2.5"], "y": ["3.5", "4.5"]})]),
    "a row that is not indented below a section": (
        tex(r"\toprule & A & B \\ \midrule \multicolumn{3}{l}{Overall} \\ \quad x & 0.5 & 0.6 \\ "
            r"\quad y & 0.1 & 0.2 \\ Time & 9.5 & 8.5 \\"),
        [(["A", "B"], {"Overall, x": ["0.5", "0.6"], "Overall, y": ["0.1", "0.2"], "Time": ["9.5", "8.5"]})]),
    "a section in the corner, a column as wide as two": (
        tex(r" & \multicolumn{2}{c}{P} & R \\ \textbf{One} & & & all \\ \hline x & \multicolumn{2}{c}{1.5} & 2.5 \\ "
            r"y & \multicolumn{2}{c}{3.5} & 4.5 \\"
            r" \textbf{Two} & & & \\ \hline x & \multicolumn{2}{c}{5.5} & 6.5 \\ "
            r"y & \multicolumn{2}{c}{7.5} & 8.5 \\", spec="lccc"),
        [(["P", "R, all"], {"One, x": ["1.5", "2.5"], "One, y": ["3.5", "4.5"], "Two, x": ["5.5", "6.5"],
            "Two, y": ["7.5", "8.5"]})]),
    "words below the rule under a blank corner, ranges and bounds": (
        tex(r"\toprule & S & M & L \\ \midrule Seen & some & most & all \\ Goals & $\leq$2 & 3--4 & all \\ "
            r"Words & 90--130 & 170--230 & any \\"
            r" \bottomrule", spec="lccc"),
        [(["S", "M", "L"], {"Seen": ["some", "most", "all"], "Goals": ["≤2", "3-4", "all"], "Words": ["90-130",
            "170-230", "any"]})]),
    "a head that goes on in one column, and a note": (
        tex(r"\toprule & Acc & Alerts \\ & & /1k runs \\ \midrule x & 0.5 & 25 \\ y & 0.6 & 26 \\ "
            r"\midrule Note: & \multicolumn{2}{r}{$^{*}$p$<$0.1} \\"),
        [(["Acc", "Alerts, /1k runs"], {"x": ["0.5", "25"], "y": ["0.6", "26"]})]),
    "circles and a hyphen behind xspace": (
        r"\newcommand{\ours}{Ours\xspace}" + tex(r"\hline Model & A & F1 \\ \hline \ours-3B & \CIRCLE & 0.5 \\ "
        r"\ours big & \Circle & 0.6 \\"),
        [(["A", "F1"], {"Ours-3B": ["●", "0.5"], "Ours big": ["○", "0.6"]})]),
    "values over two lines": (
        tex(r"\hline Model & Layers & F1 \\ \hline x & 64, 128, & 0.60 \\ & 256 & \\ y & 32, 64, & 0.61 \\ "
            r"& 128 & \\ \hline"),
        [(["Layers", "F1"], {"x": ["64, 128, 256", "0.60"], "y": ["32, 64, 128", "0.61"]})]),
    "two tables with a blank column between": (
        tex(r"\toprule Model & F1 & & Model & F1 \\ \cmidrule{1-2} \cmidrule{4-5} x & 0.5 & & y & 0.6 \\ "
            r"z & 0.1 & & w & 0.2 \\", spec="lcclc"),
        [(["F1"], {"x": ["0.5"], "z": ["0.1"], "y": ["0.6"], "w": ["0.2"]})]),
    "sizes below the heads": (
        tex(r"\toprule & A & B \\ Metric & (1{,}024) & (96) \\ \midrule x & 0.5 & 0.6 \\ y & -- & 0.2 \\"),
        [(["A, (1,024)", "B, (96)"], {"x": ["0.5", "0.6"], "y": ["", "0.2"]})]),
    "two names, the first printed once, and counts": (
        tex(r"\toprule & Group & $\backslash$\$n$\backslash$\$ & \% \\ \midrule "
            r"Sex & f & 12 & 40\% \\ & other & 18 & 60\% \\"
            r"Site & a & 9 & 30\% \\ & other & 21 & 70\% \\", spec="llrr"),
        [(["n", "%"], {"Sex, f": ["12", "40%"], "Sex, other": ["18", "60%"], "Site, a": ["9", "30%"],
                       "Site, other": ["21", "70%"]})]),
    "names right of numbers, below others that are printed once": (
        tex(r"\toprule Group & n & Task & Score \\ \midrule G1 & 9 & a & 5.08 \\ & & b & 7.40 \\ "
            r"G2 & 10 & a & 6.24 \\ & & b & 8.45 \\"),
        [(["n", "Score"], {"G1, a": ["9", "5.08"], "G1, b": ["", "7.40"], "G2, a": ["10", "6.24"],
                           "G2, b": ["", "8.45"]})]),
    "heads centred by hand above heads that repeat": (
        tex(r"\toprule & & P & & & Q & \\ T & Bias & RMSE & CP & Bias & RMSE & CP \\ \midrule"
            r" x & 0.1 & 0.2 & 0.3 & 0.4 & 0.5 & 0.6 \\ y & 0.7 & 0.8 & 0.9 & 0.1 & 0.2 & 0.3 \\", spec="lcccccc"),
        [(["P, Bias", "P, RMSE", "P, CP", "Q, Bias", "Q, RMSE", "Q, CP"],
          {"x": ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"], "y": ["0.7", "0.8", "0.9", "0.1", "0.2", "0.3"]})]),
    "two rows of heads, each with a name": (
        tex(r"\toprule Goods & \multicolumn{2}{c}{Oil} & \multicolumn{2}{c}{Gold} \\ "
            r"\midrule News & a & b & a & b \\ \midrule"
            r" x & 0.1 & 0.2 & 0.3 & 0.4 \\ y & 0.7 & 0.8 & 0.9 & 0.1 \\", spec="lcccc"),
        [(["Oil, a", "Oil, b", "Gold, a", "Gold, b"], {"x": ["0.1", "0.2", "0.3", "0.4"],
                                                       "y": ["0.7", "0.8", "0.9", "0.1"]})]),
    "errors beside a note on the name": (
        tex(r"\toprule & A & B \\ \midrule Below & 0.5 & 0.6 \\ (n = 531) & (0.1) & (0.2) \\ "
            r"Above & 0.7 & 0.8 \\ (n = 520) & (0.3) & (0.4) \\"),
        [(["A", "B"], {"Below (n = 531)": ["0.5 (0.1)", "0.6 (0.2)"], "Above (n = 520)": ["0.7 (0.3)", "0.8 (0.4)"]})]),
    "rows indented below one with numbers": (
        tex(r"\toprule & A & B \\ \midrule All & 0.5 & 0.6 \\ \quad x & 0.1 & 0.2 \\ "
            r"\quad y & 0.3 & 0.4 \\ Time & 9.5 & 8.5 \\"),
        [(["A", "B"], {"All": ["0.5", "0.6"], "All, x": ["0.1", "0.2"],
                       "All, y": ["0.3", "0.4"], "Time": ["9.5", "8.5"]})]),
    "words of a glossary": (
        r"\newacronym{acc}{ACC}{accuracy} \newglossaryentry{shard}{name={shard}, description={a part}}"
        + tex(r"\toprule Model & \gls{acc} & \Glspl{shard} \\ \midrule x & 0.5 & 12 \\ \acrshort{acc} & 0.6 & 13 \\"),
        [(["ACC", "Shards"], {"x": ["0.5", "12"], "ACC": ["0.6", "13"]})]),
    "a head 'None', and the sun": (
        tex(r"\toprule & Both & None & $M_\sun$ \\ \midrule x & 0.5 & 0.4 & 0.1 \\ y & 0.6 & 0.3 & 0.2 \\"),
        [(["Both", "None", "M⊙"], {"x": ["0.5", "0.4", "0.1"], "y": ["0.6", "0.3", "0.2"]})]),
    "amounts beside names": (
        tex(r"\toprule Set & Size & Split \\ \midrule a & 36 images & 2 / 1 \\ "
            r"b & 20 images, 14 slices & 9 / 8 \\ c & 5 volumes & 3 / 2 \\"),
        [(["Size", "Split"], {"a": ["36 images", "2 / 1"], "b": ["20 images, 14 slices", "9 / 8"],
                              "c": ["5 volumes", "3 / 2"]})]),
    "years above words": (
        tex(r"\toprule & \multicolumn{2}{c}{2019} & \multicolumn{2}{c}{2020} \\ & P & R & P & R \\ \midrule"
            r" x & 0.5 & 0.6 & 0.7 & 0.8 \\ y & 0.4 & 0.3 & 0.2 & 0.1 \\"),
        [(["2019, P", "2019, R", "2020, P", "2020, R"],
          {"x": ["0.5", "0.6", "0.7", "0.8"], "y": ["0.4", "0.3", "0.2", "0.1"]})]),
    "a section that is a number": (
        tex(HEADS + r"\multicolumn{3}{c}{2019} \\ x & 0.4 & 0.5 \\ \multicolumn{3}{c}{$15 < p < 30$} \\"
            r" x & 0.2 & 0.3 \\"),
        [(["Acc", "F1"], {"2019, x": ["0.4", "0.5"], "15 < p < 30, x": ["0.2", "0.3"]})]),
    "units of siunitx by their short names": (
        tex(r"\toprule $U$ & $v$ & $E$ \\ {} [\si{\volt}] & [$10^4\,\si{\m/\s}$] & [\si{\meV}] \\ \midrule"
            r" 40 & 3.2 & \SI{15.8}{\meV} \\ 60 & 4.0 & 24.7 \\"),
        [(["v, [1e4 m/s]", "E, [meV]"], {"40": ["3.2", "15.8 meV"], "60": ["4.0", "24.7"]})]),
    "arrows behind heads that end in a digit, and behind numbers": (
        tex(r"\toprule Model & R$^2$ $\uparrow$ & PM2$\downarrow$ \\ \midrule"
            r" x & 0.4$\uparrow$ & 0.5 (0.1)$\downarrow$ \\"),
        [(["R2 ↑", "PM2↓"], {"x": ["0.4", "0.5 (0.1)"]})]),
    "a condition with its cases in braces in one that is false": (
        "\\iffalse\n\\ifentrytype{a}{b}{c}\n\\fi\n" + tex(r"\hline & A & B \\ \hline x & 0.5 & 0.6 \\"),
        [(["A", "B"], {"x": ["0.5", "0.6"]})]),
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout(tmp_path, layout):
    source, tables = LAYOUTS[layout]
    path = tmp_path / "paper.tex"
    path.write_text(source)
    read, found = as_read(path)
    assert found == tables
    assert not [one for one in read.unread if one.counts]


def test_a_layout_of_figures_is_no_table(tmp_path):
    path = tmp_path / "paper.tex"
    figure = r"\begin{subfigure}{5.5cm}\includegraphics{a}\end{subfigure}"
    path.write_text(tex(rf"{figure} & 1 \\ {figure} & 2 \\"))
    read, found = as_read(path)
    assert not found
    assert [one.counts for one in read.unread] == [False]
