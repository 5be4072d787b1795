"""The page's style: light and dark by the reader's setting, one column on a phone, black on white on paper."""

STYLE = """
:root{color-scheme:light dark;--ink:#1d2430;--dim:#5d6878;--faint:#d9dee6;--page:#fbfbfc;--card:#fff;--good:#1f7a50;--bad:#b83226}
@media(prefers-color-scheme:dark){
:root{--ink:#e4e8ee;--dim:#9aa5b4;--faint:#38414e;--page:#14181e;--card:#1c2229;--good:#4cc38a;--bad:#ef7166}}
*{box-sizing:border-box}
body{margin:0 auto;padding:2rem 1.2rem;max-width:76rem;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif;
overflow-wrap:break-word}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:2.2rem 0 .6rem}h3{font-size:.95rem;margin:1rem 0 .3rem}p{margin:.3rem 0}
.dim{color:var(--dim)}code{font-size:.85rem;overflow-wrap:anywhere}
.verdict{background:var(--card);border:1px solid var(--faint);border-left:5px solid var(--bad);border-radius:6px;
padding:.8rem 1rem;margin:1.2rem 0;font-size:1.05rem}
.verdict.good{border-left-color:var(--good)}.good b,.met{color:var(--good)}.missed{color:var(--bad);font-weight:600}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(15rem,1fr));gap:.8rem;margin:1rem 0}
.tile{background:var(--card);border:1px solid var(--faint);border-radius:6px;padding:.7rem .9rem;min-width:0}
.tile h3{margin:0;color:var(--dim);font-weight:500}.tile .big{font-size:1.35rem;font-weight:600}.tile ul{margin:.2rem 0;padding-left:1.1rem}
.tile.warn{border-left:4px solid var(--bad)}
.scroll,.chart{overflow-x:auto;max-width:100%}.chart svg{width:100%;min-width:40rem;height:auto;display:block}figure{margin:0 0 .7rem}
figcaption{margin-top:.2rem}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th{color:var(--dim);font-weight:500;text-align:left;vertical-align:bottom}td,th{padding:.22rem .9rem .22rem 0;
border-bottom:1px solid var(--faint);vertical-align:top;white-space:nowrap}td.n,th.n{text-align:right}
th{white-space:normal;vertical-align:bottom}.grid th{white-space:nowrap}
td.w{white-space:normal;min-width:15rem}tr.total td{font-weight:600}
.grid td,.grid th{padding:.15rem .3rem;text-align:right;min-width:1.5rem}.grid td:first-child{text-align:left;white-space:nowrap}
.keyed{display:inline-block;margin-right:1em}
.key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin:0 .4em 0 0}
nav{font-size:.88rem}nav a{display:inline-block;margin-right:1.1em;color:var(--dim)}
svg text{font-family:system-ui,sans-serif!important}
summary{cursor:pointer;color:var(--dim)}li{margin:.15rem 0}
@media(max-width:50rem){th{white-space:nowrap}}
@media(max-width:30rem){body{padding:1rem .8rem}.verdict{font-size:1rem}}
@media print{
:root{--ink:#000;--dim:#444;--faint:#bbb;--page:#fff;--card:#fff;--good:#1f7a50;--bad:#b83226;color-scheme:light}
@page{size:A4;margin:14mm}
nav,details:not([open]){display:none}
body{max-width:none;padding:0;font-size:10pt}h2{margin:1.2rem 0 .4rem;break-after:avoid}figure,.tile,.verdict,tr{break-inside:avoid}
.scroll,.chart{overflow:visible}.chart svg{min-width:0}table{font-size:7.2pt;width:100%}
td,th,td.w,.grid td:first-child{white-space:normal;min-width:0;overflow-wrap:normal;padding-right:.4rem}
td.w,td.i,.grid td:first-child{overflow-wrap:anywhere}td.n{white-space:nowrap}
.grid td,.grid th{padding:.1rem;font-size:6.5pt;overflow-wrap:normal}
.decision{break-after:page;font-size:8.5pt}.tiles{display:block;columns:3;column-gap:.5rem}.tile{padding:.4rem .6rem;margin-bottom:.5rem}
.tile .big{font-size:13pt}
}
"""

# What the pages need and no more: their own style, and pictures inside them. Text that got past the escaping can load or run nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
HEAD = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    '<meta name="viewport" content="width=device-width,initial-scale=1">'
)
