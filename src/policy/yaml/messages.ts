import type { YAMLError } from 'yaml';

/** An error of the YAML library in Signalbox's own words. */
export interface YamlFault {
  readonly message: string;
  readonly hint?: string;
}

interface FaultWording extends YamlFault {
  /** Matches the library's message. */
  readonly of: RegExp;
}

const FEATURE = 'policies do not support the YAML features anchors, aliases and tags';

/** The first wording that matches the library's message applies. In a wording, `$1` is the first group of the library's message. */
const WORDINGS: readonly FaultWording[] = [
  {
    of: /at node end$/,
    message: 'there is more text after the end of the value',
    hint: 'put the whole value in quotes, or remove the text after it',
  },
  { of: /^Unexpected , in/, message: 'there is a comma where an entry is expected', hint: 'remove the comma' },
  { of: /^Unexpected empty item/, message: 'an entry is missing between two commas', hint: 'remove one comma' },
  {
    of: /^Unexpected flow-\w+-end token.*?([\]}])/,
    message: 'this `$1` does not close any open bracket',
    hint: 'remove it',
  },
  {
    of: /^Unexpected block-seq-ind on same line/,
    message: 'a list cannot begin on the line of its key',
    hint: 'begin it on the next line, or write it as `[a, b]`',
  },
  {
    of: /^(?:Block scalar header|Not a YAML token)/,
    message: 'there is text on the line after `|` or `>`',
    hint: 'begin the text on the next line, indented',
  },
  { of: /cannot start with .*`$/, message: 'a value cannot begin with a backtick', hint: 'put the value in quotes' },
  {
    of: /cannot start with (?:\w+ )*(?:character )?(\S+)$/,
    message: 'a value cannot begin with `$1` unless it is in quotes',
    hint: 'put the value in quotes',
  },
  { of: /^Missing closing/, message: 'a quote opens before this location and is not closed', hint: 'close the quote' },
  { of: /^Missing space after :/, message: 'a space is missing after the colon', hint: 'write `key: value`' },
  { of: /^Missing , /, message: 'a comma is missing between two entries', hint: 'write a comma before this entry' },
  { of: /^Implicit map keys need to be followed/, message: 'this line has no colon', hint: 'write `key: value`' },
  {
    of: /on a single line$/,
    message: 'this key has no colon on its line',
    hint: 'write `key:`, and close every quote before it',
  },
  {
    of: /^Sequence item without/,
    message: 'this entry of the list does not begin with `- `',
    hint: 'begin it with `- `, or indent it deeper',
  },
  {
    of: /^Comments must be separated/,
    message: 'a space is missing before `#`',
    hint: 'write a space before a comment; put a value that contains `#` in quotes',
  },
  { of: /directives-end/, message: 'this line of YAML directives is not supported', hint: 'remove the line' },
  { of: /escape sequence (.+)$/, message: '`$1` has no meaning in double quotes', hint: 'use single quotes' },
  { of: /^The : indicator must be at most/, message: 'a key has more than 1024 characters' },
  { of: /^Unresolved tag: tag:yaml\.org,2002:(.+)$/, message: '`!!$1` is a tag, which policies do not support' },
  { of: /^Unresolved tag: (.+)$/, message: '`$1` is a tag, which policies do not support' },
  { of: /^(?:Tags and anchors|Anchors? |Alias |An alias|A node can have|With stringKeys)/, message: FEATURE },
  { of: /must (?:be sufficiently indented and )?end with a (.)$/, message: 'a bracket is not closed: `$1` is missing' },
  {
    of: /^Block collections are not allowed within flow/,
    message: 'a comma is missing here, or brackets around an inner map or list',
  },
  {
    of: /^Unexpected [\w-]+ token/,
    message: 'this text does not belong to a key',
    hint: 'check the quotes, brackets and indentation here and above',
  },
  { of: /call stack|too deep|nest/i, message: 'maps and lists are nested too deeply' },
];

/** The fault by the library's error code, if no wording matches. */
const BY_CODE: Partial<Record<YAMLError['code'], YamlFault>> = {
  BLOCK_AS_IMPLICIT_KEY: {
    message: 'the value contains `: `, so YAML reads a second key',
    hint: 'put the value in quotes',
  },
  MULTIPLE_DOCS: { message: 'a policy file holds one YAML document: move the text after `---` to another file' },
  TAB_AS_INDENT: { message: 'a tab indents this line', hint: 'indent with spaces' },
  BAD_INDENT: { message: 'the indentation does not match the lines above' },
  BAD_DIRECTIVE: { message: 'this line of YAML directives is not supported', hint: 'remove the line' },
  TAG_RESOLVE_FAILED: { message: FEATURE },
  BAD_COLLECTION_TYPE: { message: FEATURE },
  BAD_ALIAS: { message: FEATURE },
};

const UNKNOWN: YamlFault = {
  message: 'this is not valid YAML',
  hint: 'check the quotes, brackets and indentation here and above',
};

/** Translates an error of the YAML library into Signalbox's own words. */
export function yamlFault({ code, message }: YAMLError): YamlFault {
  const own = BY_CODE[code];
  if (own && code !== 'BAD_INDENT' && code !== 'TAG_RESOLVE_FAILED' && code !== 'BAD_ALIAS') return own;
  for (const { of, message: words, hint } of WORDINGS) {
    const found = of.exec(message);
    if (found) return { message: words.replace('$1', () => found[1] ?? ''), hint };
  }
  return own ?? UNKNOWN;
}
