"""The page's style: light and dark by the reader's setting, one column on a phone, black on white on paper with the decision on a sheet."""

from __future__ import annotations

from optimize.report.page.scripts import script_hash

LIGHT = (
    "--ink:#1d2430;--dim:#566071;--faint:#d9dee6;--page:#fbfbfc;--card:#fff;--good:#1a7049;--bad:#b02f24;--link:#1f5fa8;"
    "--c0:#2f6fb7;--c1:#c2691c;--c2:#23855c;--c3:#b0478a;--c4:#857018;--c5:#6a5cc0;--c6:#36808f"
)
DARK = (
    "--ink:#e4e8ee;--dim:#a2adbb;--faint:#38414e;--page:#14181e;--card:#1c2229;--good:#4cc38a;--bad:#f07f75;--link:#86b6ec;"
    "--c0:#5c9ae0;--c1:#e5954c;--c2:#46b387;--c3:#d673b0;--c4:#bda63f;--c5:#9184e0;--c6:#62b6c7"
)
PAPER = (
    "--ink:#000;--dim:#444;--faint:#bbb;--page:#fff;--card:#fff;--good:#1a7049;--bad:#b02f24;--link:#000;"
    "--c0:#2f6fb7;--c1:#c2691c;--c2:#23855c;--c3:#b0478a;--c4:#857018;--c5:#6a5cc0;--c6:#36808f"
)
COLOURS = ("c0", "c1", "c2", "c3", "c4", "c5", "c6", "ink", "good", "bad")
BY_COLOUR = "".join(
    f".plot .{name}.fill{{fill:var(--{name})}}.plot .{name}.stroke{{stroke:var(--{name})}}i.{name}{{--own:var(--{name})}}"
    for name in COLOURS
)
TEXT = """
*{box-sizing:border-box}
html{scroll-padding-top:3.2rem}
body{margin:0 auto;padding:1.6rem 1.2rem;max-width:80rem;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif;
overflow-wrap:break-word}
h1{font-size:1.5rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .6rem}h3{font-size:.95rem;margin:1rem 0 .3rem}p{margin:.3rem 0}
.dim{color:var(--dim)}code{font-size:.85rem;overflow-wrap:anywhere}a{color:var(--link)}
a.term{color:inherit;text-decoration:underline dotted var(--dim);text-underline-offset:.2em}
button{font:inherit;cursor:pointer;color:inherit;background:var(--card);border:1px solid var(--faint);border-radius:5px;
padding:.25rem .7rem}
:focus-visible{outline:2px solid var(--link);outline-offset:2px}
summary{cursor:pointer;color:var(--dim)}li{margin:.15rem 0}dt{font-weight:600;margin-top:.4rem}dd{margin:0 0 .2rem 1rem}
.met,.good b{color:var(--good)}.missed{color:var(--bad);font-weight:600}
[hidden]{display:none!important}
"""
FRAME = """
main.framed{display:grid;grid-template-columns:12.5rem minmax(0,1fr);gap:0 2rem;align-items:start}
.all{min-width:0}ul{margin:.3rem 0;padding-left:1.3rem}
nav{position:sticky;top:0;max-height:100vh;overflow-y:auto;font-size:.87rem;padding:1rem 0}
nav a{display:block;color:var(--dim);text-decoration:none;padding:.13rem 0}nav a:hover{text-decoration:underline}
.views{display:flex;flex-wrap:wrap;gap:.4rem;align-items:center;margin:.8rem 0 0}
.views button[aria-pressed=true]{background:var(--ink);color:var(--page);border-color:var(--ink)}
.live body[data-shown=manager] section:not(.m),.live body[data-shown=engineer] section:not(.e),
.live body[data-shown=auditor] section:not(.a){display:none}
.live .noscript{display:none}
"""
SHEET = """
.verdict{background:var(--card);border:1px solid var(--faint);border-left:5px solid var(--bad);border-radius:6px;
padding:.8rem 1rem;margin:1rem 0;font-size:1.05rem}
.verdict.good{border-left-color:var(--good)}.verdict p{margin:.2rem 0}
.figures{display:grid;grid-template-columns:1.4fr 1fr 1fr 1fr;gap:.8rem}
.tile{background:var(--card);border:1px solid var(--faint);border-radius:6px;padding:.6rem .9rem;min-width:0}
.tile h3{margin:0;color:var(--dim);font-weight:500}.tile .big{font-size:1.2rem;font-weight:600}.tile:first-child .big{font-size:1.7rem}
.pair{display:grid;grid-template-columns:1fr 1fr;gap:0 2rem}.pair>div{min-width:0}
.signs{display:none}
"""
CHARTS = """
figure{margin:0 0 1.4rem}figcaption{font-weight:600;margin:.6rem 0 .2rem}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:.6rem 1.6rem}.panels>div{min-width:0}
.panel{font-size:.85rem;color:var(--dim)}
.xy{display:grid;grid-template-columns:3.6rem minmax(0,1fr);font-size:.78rem;color:var(--dim);margin:.2rem 0 .5rem}
.yn{grid-column:1/3}.yl{position:relative;height:13rem}.yl span{position:absolute;right:.5rem;transform:translateY(50%);white-space:nowrap}
.plot{position:relative;height:13rem;border-bottom:1px solid var(--dim);touch-action:pan-y}.low .plot,.low .yl{height:6rem}
.high .plot,.high .yl{height:19rem}
.plot svg{position:absolute;inset:0;width:100%;height:100%;overflow:hidden}
.xl{grid-column:2;position:relative;height:1.5em}.xl span{position:absolute;transform:translateX(-50%);white-space:nowrap;top:.15em}
.xl .left{transform:none}.xl .right{transform:translateX(-100%)}
.xn{grid-column:2;text-align:right}
.plot path{vector-effect:non-scaling-stroke;fill:none}.plot .grid{stroke:var(--faint);stroke-width:1}
.plot .stroke{stroke-width:2;stroke-linejoin:round;stroke-linecap:round}.plot .dash{stroke-dasharray:7 5}.plot .dots{stroke-dasharray:1 5}
.plot .point{stroke-width:10}.plot .fill{opacity:.85}.plot .fill.band{opacity:.25}
.cross{position:absolute;top:0;bottom:0;border-left:1px solid var(--ink);pointer-events:none}
.legend{font-size:.85rem;color:var(--dim)}.keyed{display:inline-block;margin-right:1.1em}
.key{display:inline-block;width:1em;height:.75em;margin-right:.4em;vertical-align:baseline}
.key.box{background:var(--own);border-radius:2px}.key.band{background:var(--own);opacity:.35}
.key.line,.key.dash,.key.dots,.key.point{height:0;border-top:3px solid var(--own);vertical-align:middle;width:1.6em}
.key.dash{border-top-style:dashed}.key.dots{border-top-style:dotted}
.key.point{width:.7em;height:.7em;border:0;border-radius:50%;background:var(--own)}
#tip{position:fixed;z-index:9;background:var(--card);color:var(--ink);border:1px solid var(--dim);border-radius:5px;padding:.3rem .6rem;
font-size:.82rem;max-width:20rem;pointer-events:none;box-shadow:0 2px 8px #0003}
.bars{list-style:none;padding:0;margin:.3rem 0}.bars li{display:grid;grid-template-columns:minmax(0,1fr) auto;gap:0 1rem;margin:.45rem 0}
.bars .said{text-align:right;font-variant-numeric:tabular-nums}
.track{grid-column:1/3;position:relative;height:.8rem;background:var(--faint);border-radius:2px}
.track i{position:absolute;top:0;bottom:0}.track .bar{background:var(--own);border-radius:2px;opacity:.85}
.track .dot{width:.8rem;margin-left:-.4rem;border-radius:50%;background:var(--own);border:2px solid var(--card)}
.track .limit{border-left:2px solid var(--ink);top:-.3rem;bottom:-.3rem}
.stress td{text-align:center}.stress .kept{color:var(--good)}.stress .broken{color:var(--bad);font-weight:600}
"""
WHATIF = """
.sliders{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:.6rem 2rem}
.slider{min-width:0}.slider label{font-weight:600}
.slider input{display:block;width:100%;margin:.2rem 0 0;accent-color:var(--link)}
.slider i{display:block;height:.35rem;border-radius:2px}
.shade{background:linear-gradient(90deg,var(--faint) var(--from,0%),var(--good) var(--from,0%) var(--to,0%),var(--faint) var(--to,0%))}
.slider output{display:block;font-variant-numeric:tabular-nums}
#answer{margin:1rem 0;border-top:1px solid var(--faint)}
#answer div{display:grid;grid-template-columns:14rem minmax(0,1fr);gap:1rem;padding:.25rem 0;border-bottom:1px solid var(--faint)}
#answer b{font-variant-numeric:tabular-nums}
"""
TABLES = """
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th{color:var(--dim);font-weight:500;text-align:left}td,th{padding:.22rem .9rem .22rem 0;
border-bottom:1px solid var(--faint);vertical-align:top;white-space:nowrap}td.n,th.n{text-align:right}
thead th{white-space:normal;vertical-align:bottom}.grid thead th{white-space:nowrap}
th button{border:0;padding:0;background:none;text-align:inherit}
th[aria-sort=ascending] button:after{content:" \\25B4"}th[aria-sort=descending] button:after{content:" \\25BE"}
td.w{white-space:normal;min-width:15rem}tr.total td{font-weight:600}
table.grid td,table.grid th{padding:.15rem .3rem;text-align:right;min-width:1.5rem}table.grid td:first-child{text-align:left}
.chart{overflow-x:auto;max-width:100%}.chart svg{width:100%;min-width:40rem;height:auto;display:block}
svg text{font-family:system-ui,sans-serif!important}
"""
NARROW = """
@media(max-width:64rem){main.framed{display:block}
nav{z-index:5;display:flex;gap:1.1rem;overflow-x:auto;white-space:nowrap;background:var(--page);padding:.5rem 0;
border-bottom:1px solid var(--faint)}
.figures{grid-template-columns:1fr 1fr}}
@media(max-width:40rem){body{padding:1rem .8rem}.verdict{font-size:1rem}.pair{grid-template-columns:minmax(0,1fr)}
thead th{white-space:nowrap}#answer div{grid-template-columns:minmax(0,1fr);gap:0}.bars li{gap:0 .5rem}}
@media(max-width:24rem){.figures{grid-template-columns:minmax(0,1fr)}}
"""
PRINT = """
@media print{
:root{PAPER;color-scheme:light}
@page{size:A4;margin:13mm}
nav,.views,#whatif,#tip,details:not([open]){display:none}
main.framed{display:block}body{max-width:none;padding:0;font-size:9.5pt}h1{font-size:15pt}h2{margin:.9rem 0 .3rem;break-after:avoid}
figcaption,h3{break-after:avoid}figure,.tile,.verdict,tr,.bars li,.xy{break-inside:avoid}thead{display:table-header-group}
a.term{text-decoration:none}
.scroll,.chart{overflow:visible}.chart svg{min-width:0}table{font-size:7.2pt;width:100%}
td,th,td.w,table.grid td:first-child{white-space:normal;min-width:0;overflow-wrap:normal;padding-right:.4rem}
td.w,td.i,table.grid td:first-child{overflow-wrap:anywhere}td.n{white-space:nowrap}
table.grid td,table.grid th{padding:.1rem;font-size:6.5pt}
.plot,.yl{height:9rem}.high .plot,.high .yl{height:12rem}.low .plot,.low .yl{height:4rem}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}
.decided{break-after:page;font-size:8.6pt;line-height:1.35}.decided h2{display:none}.decided h3{margin:.5rem 0 .1rem;font-size:9pt}
.decided .figures{grid-template-columns:1.2fr 1fr 1fr 1fr}
.decided .verdict{margin:.4rem 0;padding:.4rem .7rem;font-size:9.2pt}.decided .tile{padding:.3rem .5rem}.decided .figures{gap:.4rem}
.decided .tile .big,.decided .tile:first-child .big{font-size:12pt}.decided ul{margin:.1rem 0;padding-left:1rem}.decided p{margin:.15rem 0}
.signs{display:grid;grid-template-columns:1fr 1fr 1fr;gap:1.2rem;margin-top:1.1rem}
.signs span{border-top:1px solid #000;padding-top:.15rem;margin-top:1.6rem}
}
"""
ROOTS = f"\n:root{{color-scheme:light dark;{LIGHT}}}\n@media(prefers-color-scheme:dark){{\n:root{{{DARK}}}}}"
STYLE = f"{ROOTS}{TEXT}{FRAME}{SHEET}{CHARTS}{BY_COLOUR}{WHATIF}{TABLES}{NARROW}{PRINT.replace('PAPER', PAPER)}"

# What the pages need and no more: their own style, pictures inside them, and the page's own script, known by its hash. Text that got past
# the escaping can load or run nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def head(policy: str) -> str:
    """The beginning of a page under a policy."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
    )


HEAD = head(POLICY)
LIVE_HEAD = head(f"{POLICY}; script-src {script_hash()}")
