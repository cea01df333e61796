# ruff: noqa: E501 — sources and what is read of them stand side by side
"""The shapes in which papers print tables: a small source each, and what a person reads in it."""

import pytest

from memrepro.audit.read.files import tables_of


def tex(body, spec="lcc", env="tabular"):
    return rf"\begin{{{env}}}{{{spec}}} {body} \end{{{env}}}"


HEADS = r"\toprule Model & Acc & F1 \\ \midrule "
BODY = r"BM25 & 0.41 & 0.28 \\ Ours & 0.57 & 0.45 \\ \bottomrule"
PLAIN = {"BM25": ["0.41", "0.28"], "Ours": ["0.57", "0.45"]}
ACC = ["Acc", "F1"]

# Name → suffix, source, columns, rows; several tables as lists of columns and rows.
SHAPES = {
    # What is no section, no name and no row.
    "a category that a regression leaves out": (
        ".tex", tex(HEADS + r"Tenure $<$ 1 (omit.) & & \\ & & \\ Tenure 2 & 0.41 & 0.28 \\ Age & 0.57 & 0.45 \\"),
        ACC, {"Tenure 2": ["0.41", "0.28"], "Age": ["0.57", "0.45"]}),
    "a section that names its reference": (
        ".tex", tex(HEADS + r"Tenure (ref: 1) & & \\ 2 to 4 & 0.41 & 0.28 \\ 5 to 9 & 0.57 & 0.45 \\"),
        ACC, {"Tenure (ref: 1), 2 to 4": ["0.41", "0.28"], "Tenure (ref: 1), 5 to 9": ["0.57", "0.45"]}),
    "a triangle below a first row without numbers": (
        ".tex", tex(r"\toprule & 1 & 2 \\ \midrule 1. Age & & \\ 2. Size & .22 & \\ 3. Words & .21 & .63 \\"),
        ["1", "2"], {"2. Size": ["0.22", ""], "3. Words": ["0.21", "0.63"]}),
    "a condition of its own": (
        ".tex", r"\newif\ifdraft \draftfalse \newif\iflong \newcommand{\setlong}{\longtrue}"
        r"\newcommand{\todo}{\ifdraft 9\fi}"
        + tex(HEADS + r"BM25 \ifdraft & 0.9 \else\ifmmode\fi & 0.41 \fi & 0.28\todo \\"
                    r"\iflong Ours & 0.57 & 0.45 \\ \fi"),
        ACC, PLAIN),
    "a cell that a macro computes": (
        ".tex", r"\newcommand{\of}[2]{\stepcounter{c}#1 & \global\let\sum\temp\FPmul\temp{#1}{#2}"
        r"\FPround\temp{\temp}{2}\temp}"
        + tex(HEADS + r"BM25 & \of{0.28}{3} \\ Ours & 0.57 & 0.45 \\"), ACC,
        {"BM25": ["0.28", ""], "Ours": ["0.57", "0.45"]}),
    "what is struck out": (
        ".tex", tex(HEADS + r"BM25 & \sout{0.9} 0.41 & \replaced{0.28}{0.9} \\"
                    r"Ours\deleted{!} & 0.57\DIFdel{9} & 0.45 \\"),
        ACC, PLAIN),
    "steps above numbers without names": (
        ".tex", tex(r"\hline 1 & 5 & 10 \\ \hline 0.31 & 0.42 & 0.57 \\ 0.33 & 0.45 & 0.59 \\ \hline", "ccc"),
        ["1", "5", "10"], {"row 1": ["0.31", "0.42", "0.57"], "row 2": ["0.33", "0.45", "0.59"]}),
    "rows of ctable": (
        ".tex", r"\ctable[caption={C}, pos=t]{lcc}{\tnote{a note}}{\FL Model & Acc & F1 \ML[0.1em] BM25 & 0.41"
        r" & 0.28 \NN Ours & 0.57 & 0.45 \LL}", ACC, PLAIN),
    "numbers in groups of macros that are not known": (
        ".tex", tex(HEADS + r"BM25 & 0.41\spread{0.02} & \both{0.28}{0.01} \\ \odd{Ours}{} & 0.57 & \col{0.45} \\"),
        ACC, {"BM25": ["0.41 0.02", "0.28 0.01"], "Ours": ["0.57", "0.45"]}),
    "words that are units": (
        ".tex", tex(r"& Cost & Speed \\ \midrule BM25 & 31,855 gas & 12.3 sec/it \\ Ours & 512 gas & - \\"),
        ["Cost", "Speed"], {"BM25": ["31,855 gas", "12.3 sec/it"], "Ours": ["512 gas", ""]}),
    "heads of three levels that repeat": (
        ".tex", tex("".join(
            rf"\midrule & \multicolumn{{4}}{{c}}{{{top}}} \\"
            r"& \multicolumn{2}{c}{Dev} & \multicolumn{2}{c}{Test}"
            rf" \\ Model & P & R & P & R \\ \midrule x & {a} & 0.2 & 0.3 & 0.4 \\ y & {a} & 0.3 & 0.4 & 0.5 \\ "
            for top, a in (("News", "0.1"), ("Web", "0.7"))), "lcccc"),
        [[f"{top}, {set_}, {m}" for set_ in ("Dev", "Test") for m in "PR"] for top in ("News", "Web")],
        [{"x": [a, "0.2", "0.3", "0.4"], "y": [a, "0.3", "0.4", "0.5"]} for a in ("0.1", "0.7")]),
    "html, powers and what is not shown": (
        ".html", "<table><tr><th>Test<th>A<th>R<sup>2</sup></tr><tr><td>x<sup>a</sup><td>1.2&times;10"
        "<sup>&minus;3</sup><td><del>0.7</del>0.28<sup>1</sup></tr><tr><td>5<sup>th</sup><td><math><msup><mn>10</mn>"
        "<mn>5</mn></msup></math><td><span style='display: none'>9</span>12&nbsp;345</tr></table>",
        ["A", "R2"], {"x": ["1.2e-3", "0.28"], "5th": ["1e5", "12,345"]}),
    "md, powers and notes": (
        ".md", "| Test | A | B |\n|---|---|---|\n| x | 1.2 × 10^-3 | 0.28[^1] |\n| y | 2e-3 | ~~0.4~~ 0.45 |\n",
        ["A", "B"], {"x": ["1.2e-3", "0.28"], "y": ["2e-3", "0.45"]}),
    "an n of each block": (
        ".tex", tex(HEADS + r"BM25 & 0.41 & 0.28 \\ n & 84 & 84 \\ Ours & 0.57 & 0.45 \\ n & 29 & 29 \\"),
        ACC, {"BM25": ["0.41", "0.28"], "n": ["84", "84"], "Ours": ["0.57", "0.45"], "n (2)": ["29", "29"]}),
    "a glossary's name without braces": (
        ".tex", r"\newglossaryentry{ir}{ name=BM25, description={A rank} }"
        + tex(HEADS + BODY.replace("BM25", r"\gls{ir}")),
        ACC, PLAIN),
    "a column that prints nothing": (
        ".tex", tex(
            r"\toprule Part & Min. & Typ. & Unit \\ \midrule Range & & 48 & m \\ Offset & & 0.6 & s \\", "lccl"),
        ["Min.", "Typ.", "Unit"], {"Range": ["", "48", "m"], "Offset": ["", "0.6", "s"]}),
    "a legend beside a note": (
        ".tex", tex(HEADS + BODY.replace(
            r"\bottomrule",
            r"\hline Note: robust errors. & \multicolumn{2}{r}{$^{*}$p$<$0.1; $^{**}$p$<$0.05} \\")),
        ACC, PLAIN),
    "heads of a second panel without a rule below": (
        ".tex", tex(r"\toprule Model & A & B & C \\ \midrule x & 0.1 & 0.2 & 0.3 \\ y & 0.4 & 0.5 & 0.6 \\ \midrule "
                    r"& D & E & F \\ x & 0.7 & 0.8 & 0.9 \\ y & 0.3 & 0.2 & 0.1 \\ \bottomrule", "lccc"),
        [["A", "B", "C"], ["D", "E", "F"]],
        [{"x": ["0.1", "0.2", "0.3"], "y": ["0.4", "0.5", "0.6"]},
         {"x": ["0.7", "0.8", "0.9"], "y": ["0.3", "0.2", "0.1"]}]),
    # Environments.
    "tabular*": (".tex", r"\begin{tabular*}{\textwidth}{@{\extracolsep{\fill}}lcc}" + HEADS + BODY
                 + r"\end{tabular*}", ACC, PLAIN),
    "tabularx": (".tex", r"\begin{tabularx}{\textwidth}{lXX}" + HEADS + BODY + r"\end{tabularx}",
                 ACC, PLAIN),
    "tabu": (".tex", r"\begin{tabu} to \linewidth {lXX}" + HEADS + BODY + r"\end{tabu}", ACC, PLAIN),
    "tblr": (".tex", r"\begin{tblr}[b]{colspec={lcc}, row{1}={font=\bfseries}}" + HEADS + BODY
             + r"\end{tblr}", ACC, PLAIN),
    "talltblr": (".tex", r"\begin{talltblr}[caption={C}, label={tab:c}]{lcc}" + HEADS + BODY
                 + r"\end{talltblr}", ACC, PLAIN),
    "longtblr, spans": (".tex", r"\begin{longtblr}{lcc} \hline Model & \SetCell[c=2]{c} Scores & \\"
                        r" & Acc & F1 \\ \hline \SetCell[r=2]{l} BM25 & 1 & 2 \\ & 3 & 4 \\ \hline"
                        r"\end{longtblr}", ["Scores, Acc", "Scores, F1"],
                        {"BM25": ["1", "2"], "BM25 (2)": ["3", "4"]}),
    "longtable": (".tex", r"\begin{longtable}{lcc} \caption{C}\\ \toprule Model & Acc & F1 \\ \midrule"
                  r"\endfirsthead \multicolumn{3}{c}{continued} \\ Model & Acc & F1 \\ \midrule \endhead"
                  r"\multicolumn{3}{r}{next page} \\ \endfoot \bottomrule \endlastfoot "
                  r"BM25 & 0.41 & 0.28 \\ Ours & 0.57 & 0.45 \\ \end{longtable}", ACC, PLAIN),
    "xltabular": (".tex", r"\begin{xltabular}{\linewidth}{lXX}" + HEADS + r"\endhead " + BODY
                  + r"\end{xltabular}", ACC, PLAIN),
    "supertabular": (".tex", r"\tablefirsthead{\hline Model & Acc & F1 \\ \hline}"
                     r"\begin{supertabular}{lcc} BM25 & 0.41 & 0.28 \\ Ours & 0.57 & 0.45 \\ \hline"
                     r"\end{supertabular}", ACC, PLAIN),
    "deluxetable": (".tex", r"\begin{deluxetable}{lcc}\tablecaption{C}\tablehead{\colhead{Model} & "
                    r"\colhead{Acc} & \colhead{F1}}\startdata BM25 & 0.41 & 0.28 \\ Ours & 0.57 & 0.45"
                    r"\enddata\end{deluxetable}", ACC, PLAIN),
    "ctable": (".tex", r"\ctable[caption={C}, label={t}]{lcc}{\tnote{a}}{\FL " + HEADS + BODY + "}",
               ACC, PLAIN),
    "NiceTabular": (".tex", r"\begin{NiceTabular}{lcc}[hvlines]" + HEADS
                    + r"\Block{2-1}{BM25} & 1 & 2 \\ & 3 & 4 \\ \end{NiceTabular}", ACC,
                    {"BM25": ["1", "2"], "BM25 (2)": ["3", "4"]}),
    "an environment of its own": (
        ".tex", r"\newenvironment{mytab}[1]{\begin{center}\begin{tabular}{#1}\toprule}"
        r"{\bottomrule\end{tabular}\end{center}}"
        r"\begin{mytab}{lcc}Model & Acc & F1 \\ \midrule BM25 & 0.41 & 0.28 \\"
        r"Ours & 0.57 & 0.45 \\ \end{mytab}", ACC, PLAIN),
    "two side by side in one": (
        ".tex", r"\begin{tabular}{cc}" + tex(HEADS + BODY) + " & " + tex(HEADS + r"X & 1 & 2 \\")
        + r"\end{tabular}", [ACC, ACC], [PLAIN, {"X": ["1", "2"]}]),
    "a tabular that breaks a head": (
        ".tex", tex(r"Model & \begin{tabular}[c]{@{}c@{}}Acc\\(\%)\end{tabular} & F1 \\ \hline " + BODY),
        ["Acc (%)", "F1"], PLAIN),
    "skipped": (".tex", r"\iffalse" + tex(HEADS + r"No & 1 & 2 \\") + r"\fi \begin{comment}"
                + tex(HEADS + r"No & 1 & 2 \\") + "\\end{comment}\n%" + tex(HEADS + r"No & 1 & 2 \\")
                + "\n" + tex(HEADS + BODY) + r"\begin{verbatim}" + tex(r"No & 1 \\") + r"\end{verbatim}",
                ACC, PLAIN),
    # Between rows.
    "rules": (".tex", tex(r"\toprule[1pt] Model & Acc & F1 \\ \cmidrule(lr){1-3} \midrule()"
              r"BM25 & 0.41 & 0.28 \tabularnewline[2pt] \cmidrule(l{2pt}r){2-3} \rowcolor[gray]{.9}"
              r" \rule{0pt}{2ex} Ours & 0.57 & 0.45 \\*[1ex] \specialrule{1pt}{0pt}{0pt}"), ACC, PLAIN),
    "a name in brackets behind a rule": (
        ".tex", tex(HEADS + r"(Intercept) & 0.41 & 0.28 \\"), ACC, {"(Intercept)": ["0.41", "0.28"]}),
    "short rows": (".tex", tex(HEADS + r"BM25 & 0.41 \\ Ours & 0.57 & 0.45 \\"), ACC,
                   {"BM25": ["0.41", ""], "Ours": ["0.57", "0.45"]}),
    # Heads.
    "two levels": (".tex", tex(r"& \multicolumn{2}{c}{Recall} \\ \cmidrule{2-3} Model & @5 & @10 \\"
                   r"\midrule BM25 & 0.41 & 0.52 \\"), ["Recall, @5", "Recall, @10"],
                   {"BM25": ["0.41", "0.52"]}),
    "numbers as heads": (".tex", tex(r"\toprule $k$ & 1 & 5 & 10 \\ \midrule BM25 & 0.4 & 0.5 & 0.6 \\"
                         r"Ours & 0.5 & 0.6 & 0.7 \\"), ["1", "5", "10"],
                         {"BM25": ["0.4", "0.5", "0.6"], "Ours": ["0.5", "0.6", "0.7"]}),
    "numbers below a head": (
        ".tex", tex(r"\toprule & \multicolumn{3}{c}{Recall} \\ Model & 1 & 5 & 10 \\ \midrule "
                    r"BM25 & 0.4 & 0.5 & 0.6 \\"), ["Recall, 1", "Recall, 5", "Recall, 10"],
        {"BM25": ["0.4", "0.5", "0.6"]}),
    "numbered models": (".tex", tex(r"\toprule & (1) & (2) \\ \midrule x & 0.52 & 0.61 \\"
                        r"& (0.036) & (0.041) \\ Obs. & 100 & 90 \\"), ["(1)", "(2)"],
                        {"x": ["0.52 (0.036)", "0.61 (0.041)"], "Obs.": ["100", "90"]}),
    "numbers first": (".tex", tex(r"\toprule $k$ & Setting & Acc \\ \midrule 5 & plain & 0.41 \\"
                      r"5 & tuned & 0.43 \\ 10 & plain & 0.52 \\"), ["Acc"],
                      {"5, plain": ["0.41"], "5, tuned": ["0.43"], "10, plain": ["0.52"]}),
    "two names": (".tex", tex(r"\toprule Data & Model & Acc \\ \midrule \multirow{2}{*}{A} & x & 0.41 \\"
                  r" & y & 0.43 \\ B & x & 0.52 \\ & y & 0.54 \\"), ["Acc"],
                  {"A, x": ["0.41"], "A, y": ["0.43"], "B, x": ["0.52"], "B, y": ["0.54"]}),
    "a name that spans upward": (
        ".tex", tex(r"\toprule Data & Model & Acc \\ \midrule & x & 0.41 \\"
                    r"\multirow{-2}{*}{A} & y & 0.43 \\"), ["Acc"], {"A, x": ["0.41"], "A, y": ["0.43"]}),
    "names right of numbers": (
        ".tex", tex(r"\toprule Model & Acc & Paper & Code \\ \midrule BM25 & 0.41 & Robertson & yes \\"
                    r"Ours & 0.57 & this & no \\"), ["Acc", "Paper", "Code"],
        {"BM25": ["0.41", "Robertson", "yes"], "Ours": ["0.57", "this", "no"]}),
    "a size as a second name": (
        ".tex", tex(r"\toprule Task & Model & Acc & F1 \\ \midrule A & 1B & 0.41 & 0.1 \\ A & 7B & 0.43"
                    r"& 0.2 \\ B & 1B & 0.52 & 0.3 \\ B & 7B & 0.54 & 0.4 \\"), ACC,
        {"A, 1B": ["0.41", "0.1"], "A, 7B": ["0.43", "0.2"], "B, 1B": ["0.52", "0.3"],
         "B, 7B": ["0.54", "0.4"]}),
    "a number between names": (
        ".tex", tex(r"\toprule Model & Clean & Method & Acc \\ \midrule \multirow{2}{*}{A} & "
                    r"\multirow{2}{*}{68.3} & x & 0.41 \\ & & y & 0.43 \\"), ["Clean", "Acc"],
        {"A, x": ["68.3", "0.41"], "A, y": ["68.3", "0.43"]}),
    "marks as names": (
        ".tex", tex(r"\toprule Log & Trace & Acc \\ \midrule \checkmark & $\times$ & 0.41 \\"
                    r"$\times$ & \checkmark & 0.43 \\ \checkmark & \checkmark & 0.52 \\"), ["Acc"],
        {"Log ✓, Trace ×": ["0.41"], "Log ×, Trace ✓": ["0.43"], "Log ✓, Trace ✓": ["0.52"]}),
    "numbers and a word as heads": (
        ".tex", tex(r"\hline & \multicolumn{2}{c}{Task} & \\ \cline{2-3} \multirow{-2}{*}{Model} & 1 & 2 &"
                    r"\multirow{-2}{*}{Avg.} \\ \hline A & 1.2 & 1.4 & 1.3 \\ \hline"),
        ["Task, 1", "Task, 2", "Avg."], {"A": ["1.2", "1.4", "1.3"]}),
    "a section wider than its table": (
        ".tex", tex(HEADS + r"\multicolumn{7}{l}{Sparse} \\ BM25 & 0.41 & 0.28 \\"), ACC,
        {"Sparse, BM25": ["0.41", "0.28"]}),
    "a unit below the first head": (
        ".tex", tex(r"\hline Energy & A & B \\ $\sqrt{s}$ & & \\ \hline 6.3 & 0.1 & 0.2 \\ 900 & 0.3 & 0.4 \\"),
        ["A", "B"], {"6.3": ["0.1", "0.2"], "900": ["0.3", "0.4"]}),
    "numbered models above their heads": (
        ".tex", r"\def\sym#1{\ifmmode^{#1}\else\(^{#1}\)\fi}" + tex(
            r"\toprule & (1) & (2) \\ & Acc & F1 \\ \midrule x & 0.52\sym{*} & 0.61 \\ & (0.036) & (0.041) \\"
            r"\midrule Obs. & 100 & 90 \\ FE & x & \\ \bottomrule \multicolumn{3}{l}{Errors in brackets} \\"
            r"\multicolumn{3}{l}{\sym{*} \(p<0.05\), \sym{**} \(p<0.01\)} \\"), ["(1), Acc", "(2), F1"],
        {"x": ["0.52 (0.036)", "0.61 (0.041)"], "Obs.": ["100", "90"], "FE": ["x", ""]}),
    "rows of dashes": (
        ".tex", tex(HEADS + r"ReLU & --- & --- \\ BM25 & 0.41 & 0.28 \\"
                    r"Drop & \textemdash & n/a \\ Ours & 0.57 & 0.45 \\"),
        ACC, {"ReLU": ["", ""], "BM25": ["0.41", "0.28"], "Drop": ["", ""], "Ours": ["0.57", "0.45"]}),
    "a note beside the first name": (
        ".tex", tex(r"\toprule Model & Turn & Acc & F1 \\ \midrule A & T1 & 0.41 & 0.1 \\ & \multicolumn{3}{l}{lost} \\"
                    r"B & T1 & 0.43 & 0.2 \\ & T2 & 0.52 & 0.3 \\"), ACC,
        {"A, T1": ["0.41", "0.1"], "B, T1": ["0.43", "0.2"], "B, T2": ["0.52", "0.3"]}),
    "bounds in place of numbers": (
        ".tex", tex(r"\hline Name & Time & Space & Acc \\ \hline a & $O(1)$ & $O(n)$ & 1 \\"
                    r"b & $O(n)$ & $O(1)$ & 2 \\"),
        ["Time", "Space", "Acc"], {"a": ["O(1)", "O(n)", "1"], "b": ["O(n)", "O(1)", "2"]}),
    "decimal commas": (
        ".tex", tex(HEADS + r"BM25 & 0,41 & 1.200,5 \\ Ours & 0,57 & $0{,}45 \pm 0{,}01$ \\ X & 12,5 & 3 \\"), ACC,
        {"BM25": ["0.41", "1200.5"], "Ours": ["0.57", "0.45 ± 0.01"], "X": ["12.5", "3"]}),
    "an array in a float, and matrices": (
        ".tex", r"$\begin{array}{c|c} 1 & 2 \\ \hline 3 & 4 \end{array}$ \begin{table}$"
        + tex(HEADS + BODY, env="array") + r"$\end{table}", ACC, PLAIN),
    "a name over several lines": (
        ".tex", tex(r"\hline Part & A & B \\ \hline Mass & 1 & 2 \\ Moment of & \multirow{2}{*}{[3, 4]} &"
                    r"\multirow{2}{*}{[5, 6]} \\ inertia & & \\ Drag & 7 & 8 \\"), ["A", "B"],
        {"Mass": ["1", "2"], "Moment of inertia": ["[3, 4]", "[5, 6]"], "Drag": ["7", "8"]}),
    "twice side by side": (
        ".tex", tex(r"\hline Parameter & Value & Parameter & Value \\ \hline Rate & 0.1 & Steps & 100 \\"
                    r"Width & 8 & & \\"),
        ["Value"], {"Rate": ["0.1"], "Width": ["8"], "Steps": ["100"]}),
    "a power and a step as second names": (
        ".tex", tex(r"\hline Model & $\eta$ & Acc & F1 \\ \hline A & $10^{-4}$ & 0.41 & 0.1 \\"
                    r"A & $5 \cdot 10^{-4}$ & 0.43 & 0.2"
                    r"\\ A & $10^{-3}$ & 0.44 & 0.3 \\ B & $10^{-4}$ & 0.52 & 0.4 \\ B & $10^{-3}$ & 0.53 & 0.5 \\"
                    r" B & $5 \cdot 10^{-4}$ & 0.54 & 0.6 \\"), ACC,
        {"A, 1e-4": ["0.41", "0.1"], "A, 5e-4": ["0.43", "0.2"], "A, 1e-3": ["0.44", "0.3"],
         "B, 1e-4": ["0.52", "0.4"], "B, 1e-3": ["0.53", "0.5"], "B, 5e-4": ["0.54", "0.6"]}),
    "a horizon as a second name": (
        ".tex", tex(r"\hline Data & $H$ & Acc & F1 \\ \hline A & 1440 & 2.41 & 0.1 \\"
                    r"A & 432 & 2.43 & 0.2 \\ B & 960 & 2.52 & 0.3 \\"
                    r"B & 288 & 2.54 & 0.4 \\"), ACC,
        {"A, 1440": ["2.41", "0.1"], "A, 432": ["2.43", "0.2"], "B, 960": ["2.52", "0.3"], "B, 288": ["2.54", "0.4"]}),
    "one row without a name": (
        ".tex", tex(r"\hline A & B & C \\ \hline $6.85 \pm 0.23$ & $2.54 \pm 0.14$ & 1.5 \\"), ["A", "B", "C"],
        {"row 1": ["6.85 ± 0.23", "2.54 ± 0.14", "1.5"]}),
    "numbers as heads above a rule that leaves the names out, a number over several rows": (
        ".tex", tex(r"\hline & & \multicolumn{3}{c}{$m$} \\ \cline{3-5} $n$ & Method & 10 & 20 & 30 \\ \cline{2-5}"
                    r"\multirow{2}{*}{10} & VI & 0.1 & 0.2 & 0.3 \\ & DRO & 0.4 & 0.5 & 0.6 \\"),
        ["m, 10", "m, 20", "m, 30"], {"10, VI": ["0.1", "0.2", "0.3"], "10, DRO": ["0.4", "0.5", "0.6"]}),
    "an AAS table": (
        ".tex", r"\begin{deluxetable*}{lcc}[ht]\tablehead{\colhead{Model} & \colhead{Acc$\%\uparrow$}"
        r"& \colhead{F1}} \startdata BM25 & 0.41 & 0.28 \\ Ours & 0.57 {\tiny 0.02} & 0.45 \enddata\end{deluxetable*}",
        ["Acc%↑", "F1"], {"BM25": ["0.41", "0.28"], "Ours": ["0.57 0.02", "0.45"]}),
    "none as a name": (
        ".tex", tex(r"\hline Genre & Topic & Acc \\ \hline sci-fi & mind & 0.41 \\"
                    r"none & mind & 0.43 \\ none & none & 0.52 \\"),
        ["Acc"], {"sci-fi, mind": ["0.41"], "none, mind": ["0.43"], "none, none": ["0.52"]}),
    "a minus of several rows, and dots for the name above": (
        ".tex", tex(r"\hline Op & Model & Acc \\ \hline & A & 0.41 \\ \multirow{-2}{*}{$\bm{-}$} & B & "
                    r"0.43 \\ + & A & 0.52 \\ ... & C & 0.53 \\"),
        ["Acc"], {"-, A": ["0.41"], "-, B": ["0.43"], "+, A": ["0.52"], "+, C": ["0.53"]}),
    "numbers with units below a head of several columns": (
        ".tex", tex(r"\toprule & \multicolumn{2}{c}{Iron} \\ \cmidrule{2-3} Run & Current & $\sigma$ \\ "
                    r"\midrule a & 990 A & 11$\pm$2 \\ b & 500 A & 92$\pm$1 \\"),
        ["Iron, Current", "Iron, σ"], {"a": ["990 A", "11±2"], "b": ["500 A", "92±1"]}),
    "ticks beside names": (
        ".tex", tex(r"\hline Set & Source & Open & Size \\ \hline A & Web & \cmark & 20 \\ B & News & "
                    r"\xmark & 30 \\ C & Web & \xmark & 31 \\"), ["Open", "Size"],
        {"A, Web": ["✓", "20"], "B, News": ["✗", "30"], "C, Web": ["✗", "31"]}),
    "a confusion matrix": (
        ".tex", tex(r"\toprule & Yes & No \\ \midrule Said yes & 280 (TP) & 209 (FP) \\ Said no & "
                    r"94 (FN) & 143 (TN) \\"), ["Yes", "No"],
        {"Said yes": ["280 (TP)", "209 (FP)"], "Said no": ["94 (FN)", "143 (TN)"]}),
    "authors in tables of their own": (
        ".tex", r"\def\alignauthor{\end{tabular}\begin{tabular}[t]{p{5cm}}} \author{\alignauthor A}"
        + tex(HEADS + BODY), ACC, PLAIN),
    # Parts.
    "sections": (".tex", tex(HEADS + r"\multicolumn{3}{l}{Sparse} \\ BM25 & 0.41 & 0.28 \\ \midrule "
                 r"\multicolumn{3}{l}{\textit{Dense}} \\ DPR & 0.57 & 0.45 \\"), ACC,
                 {"Sparse, BM25": ["0.41", "0.28"], "Dense, DPR": ["0.57", "0.45"]}),
    "two sections, one below the other": (
        ".tex", tex(HEADS + r"\multicolumn{3}{l}{Panel A} \\ \multicolumn{3}{l}{Firms of 2020} \\ \midrule "
                    r"BM25 & 0.41 & 0.28 \\"), ACC,
        {"Panel A, Firms of 2020, BM25": ["0.41", "0.28"]}),
    "a section above a row of words": (
        ".tex", tex(r"\toprule Part & Value \\ \midrule \multicolumn{2}{l}{Encoder} \\ Input & 26 of two kinds \\ "
                    r"Layers & 2 \\ Width & 128 \\"), ["Value"],
        {"Encoder, Input": ["26 of two kinds"], "Encoder, Layers": ["2"], "Encoder, Width": ["128"]}),
    "numbers as heads above a section": (
        ".tex", tex(r"\toprule & \multicolumn{3}{c}{Target} & \\ \cmidrule{2-4} & 1 & 2 & 3 & Level \\ \midrule "
                    r"\multicolumn{5}{l}{Annual} \\ \midrule Dust & 35.0 & 25.0 & 15.0 & 5.0 \\"),
        ["Target, 1", "Target, 2", "Target, 3", "Level"],
        {"Annual, Dust": ["35.0", "25.0", "15.0", "5.0"]}),
    "ranges as heads, and the head of the names": (
        ".tex", tex(r"&\multicolumn{2}{c}{Mass} \\ \cline{2-3} Method & $12-13$ & $13-14$ \\ \hline "
                    r"Power law & $0.23\pm0.01$ & $0.16\pm0.02$ \\"),
        ["Mass, 12-13", "Mass, 13-14"], {"Power law": ["0.23±0.01", "0.16±0.02"]}),
    "panels": (".tex", tex(HEADS + r"BM25 & 0.41 & 0.28 \\ \midrule Model & Recall & MRR \\ \midrule "
               r"BM25 & 0.51 & 0.38 \\ \bottomrule"), [ACC, ["Recall", "MRR"]],
               [{"BM25": ["0.41", "0.28"]}, {"BM25": ["0.51", "0.38"]}]),
    "answers in the body": (
        ".tex", tex(HEADS + r"x & 0.41 & 0.28 \\ \midrule Controls & No & Yes \\ Obs. & 120 & 120 \\"), ACC,
        {"x": ["0.41", "0.28"], "Controls": ["No", "Yes"], "Obs.": ["120", "120"]}),
    "a number as wide as two columns": (
        ".tex", tex(HEADS + r"BM25 & 0.41 & 0.28 \\ Obs. & \multicolumn{2}{c}{120} \\"), ACC,
        {"BM25": ["0.41", "0.28"], "Obs.": ["120", "120"]}),
    "a name that reaches into numbers": (
        ".tex", tex(r"Layer & MOP & Acc \\ \midrule a & 3.5 & 0.41 \\ b & 1.2 & 0.28 \\ "
                    r"\multicolumn{2}{l}{Speed} & 0.97 \\"), ["MOP", "Acc"],
        {"a": ["3.5", "0.41"], "b": ["1.2", "0.28"], "Speed": ["", "0.97"]}),
    "numbers that name rows and reach down": (
        ".tex", tex(r"T & N & G & RMSE \\ \midrule 5 & 50 & 1 & 0.054 \\ & & 2 & 0.041 \\ & 100 & 1 & 0.053 \\"
                    r" & & 2 & 0.025 \\ 9 & 50 & 1 & 0.105 \\ & & 2 & 0.031 \\"), ["RMSE"],
        {"T 5, N 50, G 1": ["0.054"], "T 5, N 50, G 2": ["0.041"], "T 5, N 100, G 1": ["0.053"],
         "T 5, N 100, G 2": ["0.025"], "T 9, N 50, G 1": ["0.105"], "T 9, N 50, G 2": ["0.031"]}),
    "steps below a name that reaches down": (
        ".tex", tex(r"Data & H & MSE \\ \midrule \multirow{3}{*}{A} & 96 & 0.31 \\ & 192 & 0.35 \\ & Avg & 0.33 \\"
                    r" \midrule \multirow{3}{*}{B} & 96 & 0.21 \\ & 192 & 0.27 \\ & Avg & 0.24 \\"), ["MSE"],
        {"A, 96": ["0.31"], "A, 192": ["0.35"], "A, Avg": ["0.33"],
         "B, 96": ["0.21"], "B, 192": ["0.27"], "B, Avg": ["0.24"]}),
    "names that are citations": (
        ".tex", tex(r"Corpus & Field & $k$ \\ \midrule \textcite{lang2020} & Law & 1.3 \\ Metapsy & Minds & 2.9 \\"
                    r" \citet[p. 2]{arel22} & Politics & 7.4 \\"), ["k"],
        {"lang2020, Law": ["1.3"], "Metapsy, Minds": ["2.9"], "arel22, Politics": ["7.4"]}),
    "a note over two rows": (
        ".tex", tex(r"& (1) & (2) & (3) \\ \midrule Age & 0.41 & 0.28 & 0.33 \\ Obs. & 97 & 97 & 97 \\ \midrule "
                    r"\emph{Notes} & \multicolumn{3}{l}{Errors in brackets} \\ & \multicolumn{3}{l}{No years} \\"),
        ["(1)", "(2)", "(3)"], {"Age": ["0.41", "0.28", "0.33"], "Obs.": ["97", "97", "97"]}),
    "an arrow behind a unit": (
        ".tex", tex(r"Model & PSNR (dB) $\uparrow$ & Gain (0.5) $\uparrow$ \\ \midrule x & 25.6$\uparrow$ & 0.41 \\"
                    r" y & 18.1 & 0.28 \\"), ["PSNR (dB) ↑", "Gain (0.5) ↑"],
        {"x": ["25.6", "0.41"], "y": ["18.1", "0.28"]}),
    # Other formats.
    "md, ragged": (".md", "| Model | Acc | F1 |\n|---|---|---|\n| BM25 | 0.41 |\n| Ours | 0.57 | 0.45 |",
                   ACC, {"BM25": ["0.41", ""], "Ours": ["0.57", "0.45"]}),
    "md, more cells than heads": (
        ".md", "| Model | Acc |\n|:--|--:|\n| BM25 | 0.41 | 0.28 |\n| Ours | 0.57 | 0.45 |",
        ["Acc", "column 3"], PLAIN),
    "md, within code": (".md", "```\n| A | B |\n|---|---|\n| x | 1 |\n```\n\nModel | Acc | F1\n"
                        "--- | --- | ---\nBM25 | 0.41 | **0.28**\nOurs | 0.57 | $0.45$\n", ACC, PLAIN),
    "html without rows in the head": (
        ".html", "<table><thead><th>Model</th><th>Acc</th><th>F1</th></thead><tbody><tr><td>BM25<td>0.41"
        "<td>0.28</tr><tr><td>Ours</td><td>0.57</td><td>0.45</td></tr></tbody></table>", ACC, PLAIN),
    "html, two levels": (
        ".html", "<table><tr><th rowspan=2>Model</th><th colspan=2>Recall</th></tr><tr><th>1</th><th>5</th>"
        "</tr><tr><td>BM25</td><td>0.41</td><td>0.28</td></tr></table>", ["Recall, 1", "Recall, 5"],
        {"BM25": ["0.41", "0.28"]}),
    "html, maths of a script": (
        ".html", "<table><tr><th>Test</th><th>A</th><th>B</th></tr><tr><td>x</td><td>0.41</td>"
        r"<td>\(t(28) = 2.10\), \(p = 0.3\)</td></tr></table>",
        ["A", "B"], {"x": ["0.41", "t(28) = 2.10, p = 0.3"]}),
    "html, a legend below": (
        ".html", "<table><tr><th></th><th>(1)</th><th>(2)</th></tr><tr><td>x</td><td>0.41</td><td>0.28*"
        "</td></tr><tr><td>+ p &lt; 0.1, * p &lt; 0.05</td><td></td><td></td></tr></table>",
        ["(1)", "(2)"], {"x": ["0.41", "0.28"]}),
    "energies": (".tex", tex(r"& Energy \\ \midrule DRAM & 1.72e-02 J \\ MAC & 4.7e-06 J \\"), ["Energy"],
                 {"DRAM": ["1.72e-02 J"], "MAC": ["4.7e-06 J"]}),
    "letters of significance": (".tex", tex(r"& N & C \\ \midrule x & 0.15 a & 10.4ab \\ y & 0.09 c & 11.1 b \\"),
                                ["N", "C"], {"x": ["0.15 a", "10.4ab"], "y": ["0.09 c", "11.1 b"]}),
    "powers, and marks of notes": (".tex", tex(r"& Size & n \\ \midrule x & $128^3$ & 12$^2$ \\ y & $2^{10}$ & 14 \\"),
                                   ["Size", "n"], {"x": ["128^3", "12"], "y": ["2^10", "14"]}),
    "a name that goes on in the line of its errors": (
        ".tex", tex(r"& (1) \\ \midrule Party & 0.09 \\ & (0.01) \\ Party x & 0.049 \\ News & (0.035) \\"), ["(1)"],
        {"Party": ["0.09 (0.01)"], "Party x News": ["0.049 (0.035)"]}),
    "two levels of heads again": (
        ".tex", tex(r"& \multicolumn{2}{c}{Q} \\ \midrule & A & B \\ \midrule e & 0.41 & 0.28 \\ h & 0.57 & 0.45 \\"
                    r" \midrule & \multicolumn{2}{c}{R} \\ \midrule & C & D \\ \midrule e & 0.51 & 0.38 \\"),
        [["Q, A", "Q, B"], ["R, C", "R, D"]],
        [{"e": ["0.41", "0.28"], "h": ["0.57", "0.45"]}, {"e": ["0.51", "0.38"]}]),
    "a title that is the only head": (
        ".tex", tex(r"\multicolumn{2}{c}{beauty} \\ \midrule grace & 0.66 \\ charm & 0.65 \\"), ["beauty"],
        {"grace": ["0.66"], "charm": ["0.65"]}),
    "decimals without names": (
        ".tex", tex(r"LR & SVM & KNN & NB \\ \midrule 0.89 & 0.79 & 0.71 & 0.69 \\ 0.93 & 0.81 & 0.72 & 0.68 \\"
                    r" 0.90 & 0.78 & 0.70 & 0.67 \\ 0.91 & 0.77 & 0.73 & 0.66 \\"), ["LR", "SVM", "KNN", "NB"],
        {"row 1": ["0.89", "0.79", "0.71", "0.69"], "row 2": ["0.93", "0.81", "0.72", "0.68"],
         "row 3": ["0.90", "0.78", "0.70", "0.67"], "row 4": ["0.91", "0.77", "0.73", "0.66"]}),
    "counts between heads": (
        ".tex", tex(r"Mode & \multicolumn{2}{c}{Easy} \\ Actions & 3042 & - \\ Model & Slow & Acc \\ \midrule"
                    r" a & 0.45 & 0.63 \\ b & 0.31 & 0.57 \\"), ["Easy, 3042, Slow", "Easy, Acc"],
        {"a": ["0.45", "0.63"], "b": ["0.31", "0.57"]}),
    "wide numbers without a name": (
        ".tex", tex(HEADS + r"a & 0.41 & 0.28 \\ t & \multicolumn{2}{l}{0.02 of x} \\"
                    r" & \multicolumn{2}{l}{0.01 of y} \\ ICC & 0.90 & 0.80 \\"), ACC,
        {"a": ["0.41", "0.28"], "t": ["0.02 of x", ""], "row 3": ["0.01 of y", ""], "ICC": ["0.90", "0.80"]}),
    "the head of names by itself": (
        ".tex", tex(r"{} & 5 - 6 hours & > 8 hours \\ years & & \\ \midrule < 4 years & 0.04 & 1.74 \\"
                    r" > 10 years & 0.62 & 0.73 \\"), ["5 - 6 hours", "> 8 hours"],
        {"< 4 years": ["0.04", "1.74"], "> 10 years": ["0.62", "0.73"]}),
    "an error that is not known": (
        ".tex", tex(r"& (1) \\ \midrule left & 0.02 \\ & (0.63) \\ right & 0 \\ & (.) \\"), ["(1)"],
        {"left": ["0.02 (0.63)"], "right": ["0"]}),
    "the same heads again, that of names too": (
        ".tex", tex(r"Data & Model & lr & Data & Model & lr \\ \midrule \multirow{2}{*}{A} & x & 1e-5 &"
                    r" \multirow{2}{*}{B} & x & 2e-5 \\ & y & 1e-4 & & y & 2e-4 \\"), ["lr"],
        {"A, x": ["1e-5"], "A, y": ["1e-4"], "B, x": ["2e-5"], "B, y": ["2e-4"]}),
    "csv, semicolons and commas": (".csv", "Model;Acc;F1\nBM25;0,41;0,28\nOurs;0,57;0,45\n", ACC, PLAIN),
    "csv, semicolons": (".csv", "\ufeffModel;Acc;F1\r\nBM25;0.41;0.28\r\nOurs;0.57;0.45\r\n", ACC, PLAIN),
    "tsv": (".tsv", "Model\tAcc\tF1\nBM25\t0.41\t0.28\nOurs\t0.57\t0.45\n", ACC, PLAIN),
    "csv, numbers as heads": (".csv", "k,1,5\nBM25,0.41,0.28\nOurs,0.57,0.45\n", ["1", "5"], PLAIN),
    "csv, leaderboard": (".csv", "Model,Acc,Paper\nBM25,0.41,Robertson\nOurs,0.57,this\n",
                         ["Acc", "Paper"], {"BM25": ["0.41", "Robertson"], "Ours": ["0.57", "this"]}),
}  # fmt: skip


def as_read(path, exclude=()):
    read = tables_of(path, exclude)
    return read, [
        (t.columns, {r: list(c.values()) for r, c in t.rows.items()}) for t in read.tables
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape(tmp_path, shape):
    suffix, source, columns, rows = SHAPES[shape]
    path = tmp_path / f"paper{suffix}"
    path.write_text(source)
    if isinstance(rows, dict):
        columns, rows = [columns], [rows]
    read, found = as_read(path)
    assert found == list(zip(columns, rows, strict=True))
    assert not [one for one in read.unread if one.counts]


# What a cell of LaTeX prints.
CELLS = {
    r"\texttt{0.72}": "0.72", r"\mbox{0.72}": "0.72", r"\textsf{0.72}": "0.72",
    r"{\small 0.72}": "0.72", r"\unknown{0.72}": "0.72", r"\unknown[x]{0.72}": "0.72",
    r"\SI{5}{ms}": "5 ms", r"\SI{5}{\milli\second}": "5 ms", r"\qty{45.2}{\percent}": "45.2 %",
    r"\num{12345}": "12345", r"\num[round-precision=2]{1e-3}": "1e-3", r"5.2\phantom{0}": "5.2",
    r"\ding{51}": "✓", r"\ding{55}": "✗", r"\checkmark": "✓", r"5.2\tnote{a}": "5.2",
    r"12\,345": "12,345", "12{,}345": "12,345", "1e-3": "1e-3",
    r"$1.2 \times 10^{-3}$": "1.2e-3", r"$10^{-5}$": "1e-5", r"$1.2\cdot10^{6}$": "1.2e6",
    r"$\sim$28": "~28", "1.2B": "1.2B", "(0.036)": "(0.036)", "[0.1, 0.2]": "[0.1, 0.2]",
    "[-8, 8]": "[-8, 8]", r"\$154.14": "$154.14", r"\href{http://u}{0.5}": "0.5",
    "638 (1,616)": "638 (1,616)", "1.00 (1.00, 1.10)": "1.00 (1.00, 1.10)",
    r"0.521 $\pm$ 0.1": "0.521 ± 0.1", r"$0.52_{\pm 0.01}$": "0.52 ± 0.01",
    r"$0.52^{+0.01}_{-0.02}$": "0.52 +0.01 -0.02", r"0.5\footnote{x 7}": "0.5",
    r"0.5\textsuperscript{1}": "0.5", r"$0.5^{1}$": "0.5", r"0.5\cite{a}": "0.5",
    r"\textcolor{red}{0.5}": "0.5", r"\cellcolor{red!20}0.5": "0.5", r"\cellcolor[HTML]{FF0000} 0.5": "0.5",
    r"\makecell{0.5 \\ (0.1)}": "0.5 (0.1)", r"$-$0.5": "-0.5", "--": "", r".5": "0.5",
    r"\raisebox{1ex}[0pt]{0.5}": "0.5", r"45.2\%": "45.2%", r"$\mathbf{0.5}$": "0.5",
    r"66 (55.0\%)": "66 (55.0%)", r"$\frac{1}{2}$": "1/2", r"0.5$^{***}$": "0.5", r"$<$0.001": "<0.001",
    r"$284\left(^{48}_{47}\right)$": "284(48 47)", r"0.0 \tiny{[0.0, 0.1]}": "0.0 [0.0, 0.1]",
    r"Weight$^{a,b}$ 5": "Weight 5", "x zenodo.12": "x zenodo.12",
    r"U \S 3": "U §3", r"{\char'65}": "5", r"1\textsuperscript{st} 5": "1st 5", "sci_fi 5": "sci_fi 5",
    r"\ensuremath{5 \pm 0.1}": "5 ± 0.1", r"$\tilde{\rho} = 5$": "ρ̃ = 5", r"$\bar{x}$ 5": "x̄ 5",
    r"(5 cMpc)$^3$ 5": "(5 cMpc) 5", r"(x cMpc)$^3$ 5": "(x cMpc)^3 5", r"\nth{12} 5": "12th 5",
    r"\'Etude": "Étude", r"\ours{} 5": "Ours 5", r"\best{0.5}{7}": "0.5/7",
}  # fmt: skip


@pytest.mark.parametrize("source", CELLS)
def test_a_cell(tmp_path, source):
    path = tmp_path / "paper.tex"
    path.write_text(
        r"\renewcommand\tiny{\@setfontsize\tiny{7pt}\@vipt} \newcommand{\ours}{Ours} "
        r"\newcommand{\best}[2]{\textbf{#1}/#2} \usepackage{x}"
        rf"\begin{{tabular}}{{lcc}} Model & Acc & F1 \\ \hline x & 1.0 & {source} \\"
        r" y & 2.0 & 3.0 \\ z & 2.0 & 3.0 \\ \end{tabular}"
    )
    _, [(_, rows)] = as_read(path)
    assert rows == {"x": ["1.0", CELLS[source]], "y": ["2.0", "3.0"], "z": ["2.0", "3.0"]}


def test_what_a_paper_includes_is_read_where_it_stands(tmp_path):
    for folder in ("sections", "tables", ".git"):
        (tmp_path / folder).mkdir()
    files = {
        "main.tex": "\\documentclass{article}\n\\usepackage{own}\n\\input{sections/a}\n"
        "\\include{sections/b}\n\\input{gone}\n\\input{folder/packed}\n",
        "own.sty": r"\newcommand{\ours}{Ours} \def\bf#1{\ifmmode#1\message{no}\else{#1}\fi} \def\textbf#1{\bf#1}"
        r"\def\midrule{\noalign{\ifnum0=`}\fi\hrule height 3pt} \let\cite\otherc \def\otherc#1{\cite{#1}}",
        "sections/a.tex": "x\n\\begin{table}\\caption{The \\ours}\\label{tab:a}\n"
        "\\input{tables/t}\\end{table}",
        "sections/b.tex": tex(r"Model & Acc \\ \hline A & $\notclosed & 0.5 \\") + r"\begin{tabular}{l}",
        "tables/t.tex": tex(HEADS + r"\ours & 0.57 & \textbf{0.45} \\"),
        "packed.tex": tex(HEADS + BODY),
        "draft.tex": tex(HEADS + BODY),
        ".git/old.tex": tex(HEADS + BODY),
    }  # fmt: skip
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    read, found = as_read(tmp_path)
    assert found[0] == (ACC, {"Ours": ["0.57", "0.45"]})
    told = read.tables[0].reading
    assert [told[key] for key in ("file", "line", "label", "caption")] == [
        "tables/t.tex", 1, "tab:a", "The Ours"]  # fmt: skip
    why = {one.source: one.why for one in read.unread}
    assert "'gone', which is not here" in why["main.tex, line 5"]
    assert "no main file of this folder includes it" in why["draft.tex"]
    assert r"has no \end{tabular}" in why["sections/b.tex, line 1, table 3"]
    # The same from the main file alone; and a file left out is not told of.
    assert as_read(tmp_path / "main.tex")[1] == found
    read, _ = as_read(tmp_path, ["draft.tex"])
    assert "draft.tex" not in {one.source for one in read.unread}


def test_what_two_main_files_include_is_read_once(tmp_path):
    for name in ("main.tex", "draft.tex"):
        (tmp_path / name).write_text("\\documentclass{article}\n\\input{table}")
    (tmp_path / "table.tex").write_text(tex(HEADS + BODY))
    read, found = as_read(tmp_path)
    assert (found, read.summary) == ([(ACC, PLAIN)], "1 table read, 0 not, of 1")


def test_a_title_page_that_begins_is_no_main_file(tmp_path):
    (tmp_path / "thesis.tex").write_text(
        "\\documentclass{book}\n\\include{title}\n\\input{part}\n\\end{document}"
    )
    (tmp_path / "title.tex").write_text("\\begin{document}\nA title")
    (tmp_path / "part.tex").write_text(tex(HEADS + BODY))
    assert as_read(tmp_path)[1] == [(ACC, PLAIN)]


def test_a_class_in_a_preamble_and_numbers_of_a_row(tmp_path):
    (tmp_path / "preamble.tex").write_text("\\documentclass{article}")
    (tmp_path / "main.tex").write_text(
        "\\input{preamble}\n\\begin{document}\n\\input{part}\n\\end{document}"
    )
    (tmp_path / "part.tex").write_text(tex(HEADS + r"BM25 & 0.41 & 0.28 \\ N & 483 & 512 \\"))
    read, found = as_read(tmp_path)
    assert (found, read.unread) == ([(ACC, {"BM25": ["0.41", "0.28"]})], ())
    told = read.tables[0].reading
    assert (told["n"], told["n_source"]) == ({"Acc": 483, "F1": 512}, "a row of the table")
