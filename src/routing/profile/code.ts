/** Characters read of a line. */
const LINE = 160;

/**
 * Beginnings of lines of source code, by language; '' for several languages. The patterns are anchored and the line is
 * short, because callers write this text.
 */
const LINES: readonly (readonly [language: string, start: RegExp])[] = [
  [
    'python',
    /(?:async )?def \w+ ?\(.*(?::|,)$|def \w+\(.*\): |class [A-Z]\w*(?:\([\w., ]*\))?:$|from [\w.]+ import |import [\w.]+ as \w|(?:elif .+|except\b.*|else|try|finally):$|for \w[\w, ]* in .+:$|for \w+ in \w+\(.*\): ?\w|(?:if|while|with) .*(?:[=<>)\]_]|\bnot \w+|True|None).*:$|Traceback \(most recent call last\)|File ".+", line \d|>>> |print\(.*\)$|if __name__|(?:ModuleNotFound|Attribute|Indentation|Index|Key|Name|ZeroDivision)Error: /,
  ],
  ['rust', /(?:pub(?:\(\w+\))? )?(?:async )?fn \w+|let mut |use (?:std|crate)::|impl\b.*\{$|#\[|thread '.*' panicked/],
  [
    'dockerfile',
    /FROM [\w.-]+[:/]\S+(?: (?:AS|as) \w+)?$|RUN (?:apt|apk|npm|pip|yarn|cargo|go|mvn|curl|mkdir|chmod)[ -]|(?:COPY|ADD) (?:--\S+ )?\w*[./]\S* \S+$|(?:ENTRYPOINT|CMD) \[|WORKDIR \//,
  ],
  ['hcl', /(?:resource|data) "\w+" "[\w-]+" \{|(?:variable|provider|module|output) "[\w-]+" \{/],
  ['cobol', /(?:IDENTIFICATION|ENVIRONMENT|DATA|PROCEDURE) DIVISION|WORKING-STORAGE SECTION|\d\d +[A-Z][\w-]* +PIC /],
  ['solidity', /pragma solidity |contract \w+(?: is [\w, ]+)? \{$/],
  ['elixir', /defmodule [A-Z][\w.]* do$|defp? \w+(?:\(.*\))? do$/],
  [
    'scala',
    /(?:case class|object) [A-Z]\w*.*(?:\)|\{|extends \w+)$|(?:\w+ )?def \w+(?:\[.*\])?(?:\(.*\))?(?:: [A-Z][\w[\], ]*)? = ?/,
  ],
  ['dart', /import 'package:|void main\(\) (?:async )?(?:\{|=>)/],
  ['clojure', /\(defn? |\(ns /],
  ['erlang', /-module\(\w+\)\.$|-export\(\[/],
  ['swift', /(?:\w+ )?func \w+.*->.*\{$|import (?:SwiftUI|UIKit|Foundation)$|guard let /],
  ['go', /func (?:\(\w+ \*?\w+\) )?\w+\(.*\{$|package \w+$|\w+(?:, \w+)* := |if err != nil|panic: |goroutine \d/],
  ['kotlin', /(?:\w+ )?fun \w+\(|data class |val \w+.* = /],
  ['cpp', /#include ?<(?:iostream|vector|string|map|algorithm|memory|\w+stream)>|using namespace |template ?<|std::/],
  ['c', /#include ?["<]\w+\.h[">]|int main\((?:void)?\)/],
  ['csharp', /using [A-Z][\w.]*;|namespace [A-Z]|Console\./],
  [
    'java',
    /(?:import (?:static )?[a-z]+\.[\w.*]+|package [\w.]+);|(?:public|private|protected) (?:static |final )*(?:class|void|int|String|boolean|[A-Z]\w*(?:<.*>)?)\b.*[{;(]$|System\.out|Exception in thread|at [\w.$]+\(\w+\.java/,
  ],
  ['php', /<\?php|\$\w+(?:->\w+|\[.*\])? ?\.?= ?.*;$|function \w+\(.*\$\w|echo .*;$/],
  [
    'typescript',
    /(?:export )?(?:declare )?(?:interface|enum) \w+.*\{$|(?:export )?type \w+(?:<.*>)? =|import type |(?:.*\(.*|(?:const|let|readonly|private|public) .*): (?:string|number|boolean|void|unknown|Request|Promise<.*>|\w+\[\])(?: ?[={;,)]|$)|(?:const|let) \w+: |\w+\??: (?:string|number|boolean)(?:\[\])?;/,
  ],
  [
    'javascript',
    /(?:export )?(?:const|let|var) [\w{[].*=|(?:export )?(?:default )?(?:async )?function\*? ?\w*\(.*\{?|console\.|import .+ from ['"]|document\.|module\.exports|at .+\(.+\.js:\d/,
  ],
  ['ruby', /def \w+[?!]?(?:\([\w, ]*\))?$|(?:require|require_relative) '|puts ["'#:]|attr_\w+ :|\w+\.each do/],
  [
    'sql',
    /(?:SELECT|select) .+ (?:FROM|from) |SELECT\b|INSERT INTO |UPDATE \w+ SET|DELETE FROM |CREATE (?:TABLE|INDEX|VIEW)|ALTER TABLE |(?:select|insert into|create table) .*[;(*,]$/,
  ],
  ['bash', /#!\/(?:usr\/)?bin\/|if \[|(?:fi|done|esac)$|for \w+ in .*; ?do|sudo |export [A-Z_]+=|while read/],
  [
    'html',
    /<!(?:doctype|DOCTYPE) html|<\/?(?:div|html|head|body|span|ul|ol|li|h[1-6]|table|tr|td|form|input|button|script|style|img|section|nav|link|label|select|a|p)\b[^<]*>/,
  ],
  [
    'css',
    /(?:[.#@][\w-]+|body|html|\w+:\w+)[\w .#:>,-]*\{|(?:color|margin|padding|display|width|height|font|background|border|position|flex|grid|align|justify)[\w-]*: ?[^;]+;$/,
  ],
  ['r', /library\(\w+\)|\w[\w.]* <- /],
  ['haskell', /\w+ :: .*->|main :: IO|import qualified /],
  ['powershell', /\$\w+ = |Get-\w+|param\(|Write-Host/],
  ['lua', /local (?:function )?\w+ ?[=(]/],
  ['perl', /my [$@%]\w+|use strict;/],
  [
    '',
    /(?:export )?(?:abstract )?(?:class|struct|enum|interface) [A-Z]\w*.{0,80}[:{]$|(?:return|throw|await|yield)\b.*[;)]$|(?:\w+\.)?\w*(?:Error|Exception)(?::| at )|@@ -\d|(?:if|for|while|switch) ?\(.*\{?$|[\w.[\]]+ ?[-+*|]?= ?.*;$|[\w.]+\(.*=>.*\);?$|FROM \w+[:/]|\w+(?:\.\w+)*\(.*\);$|(?:npm|git|docker|pip|kubectl|cargo|curl) [a-z-]+ .*(?:-|\/)\w/,
  ],
];

const START = new RegExp(LINES.map(({ 1: { source } }) => `(${source})`).join('|'), 'y');
/** Ends of statements and blocks. */
const END = /(?:[)}\]] ?;|[)\w>] ?\{|=.{1,160};)$/;
/** A line without one of these and without a keyword is prose: a fast first test. Parentheses and colons depend on what is beside them. */
const MARKS = new Uint8Array(0x10000);
const SURE = 1;
const BESIDE = 2;
for (const mark of '{};=<>#$[]@') MARKS[mark.charCodeAt(0)] = SURE;
for (const mark of '(:') MARKS[mark.charCodeAt(0)] = BESIDE;
const KEYWORD =
  /(?:import|from|package|FROM|RUN|COPY|WORKDIR|SELECT|select|puts|def|fi|done|else|return|let|npm|git|docker|pip|cargo|curl|sudo|local|panic|at|File) ?/y;

/** Whether a line has a mark of code: a bracket, a call, a colon at its end or behind an error's name, a keyword in front. */
export function mayBeCode(text: string, from: number, to: number): boolean {
  const end = Math.min(to, from + LINE);
  for (let at = from; at < end; at++) {
    const mark = MARKS[text.charCodeAt(at)]!;
    if (mark === 0) continue;
    if (mark === SURE) return true;
    if (text.charCodeAt(at) === 0x28) {
      if (at > from && isWordUnit(text.charCodeAt(at - 1))) return true;
    } else if (at + 1 >= to || isErrorEnd(text, at)) return true;
  }
  KEYWORD.lastIndex = from;
  return KEYWORD.test(text);
}

const isWordUnit = (code: number): boolean =>
  (code > 0x60 && code < 0x7b) || (code > 0x40 && code < 0x5b) || (code >= 0x30 && code < 0x3a) || code === 0x5f;
const isErrorEnd = (text: string, at: number): boolean => text.endsWith('Error', at) || text.endsWith('Exception', at);

/** The programming language of a line; '' for code of an unclear one, null for prose. */
export function languageOfLine(text: string, from: number, to: number): string | null {
  let start = from;
  while (start < to && text.charCodeAt(start) <= 0x20) start++;
  let end = to;
  while (end > start && text.charCodeAt(end - 1) <= 0x20) end--;
  if (!mayBeCode(text, start, end)) return null;
  const line = text.slice(start, Math.min(end, start + LINE));
  START.lastIndex = 0;
  const match = START.exec(line);
  if (match) return LINES[match.indexOf(match[0], 1) - 1]![0];
  const last = end > start ? text.charCodeAt(end - 1) : 0;
  return (last === 0x3b || last === 0x7b) && END.test(line) ? '' : null;
}
