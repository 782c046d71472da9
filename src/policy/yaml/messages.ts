import type { YAMLError } from 'yaml';
import { answerTo, type Courtesy } from '../report/courtesy.ts';

/** An error of the YAML library in Signalbox's own words. */
export interface YamlFault {
  readonly message: string;
  readonly hint?: string;
}

/** A wording for errors of the YAML library. */
interface Wording extends YamlFault {
  readonly mistake: string;
  /** The code of the error, or a pattern of its message. In `message`, `$1` is the first group of the pattern. */
  readonly of: YAMLError['code'] | RegExp;
}

const FEATURE = 'policies do not support the YAML features anchors, aliases and tags';

/** The first wording that matches an error applies. */
const WORDINGS: readonly Wording[] = [
  {
    mistake: 'a: b: c',
    of: 'BLOCK_AS_IMPLICIT_KEY',
    message: 'the value contains `: `, so YAML reads a second key',
    hint: 'put the value in quotes',
  },
  {
    mistake: 'a: 1\n---\nb: 2',
    of: 'MULTIPLE_DOCS',
    message: 'a policy file holds one YAML document: move the text after `---` to another file',
  },
  { mistake: 'a:\n\t- b: 1\n', of: 'TAB_AS_INDENT', message: 'a tab indents this line', hint: 'indent with spaces' },
  {
    mistake: '%FOO\na: 1',
    of: 'BAD_DIRECTIVE',
    message: 'this line of YAML directives is not supported',
    hint: 'remove the line',
  },
  {
    mistake: '%FOO\na: 1',
    of: /directives-end/,
    message: 'this line of YAML directives is not supported',
    hint: 'remove the line',
  },
  {
    mistake: 'a: "x" y',
    of: /at node end$/,
    message: 'there is more text after the end of the value',
    hint: 'put the whole value in quotes, or remove the text after it',
  },
  {
    mistake: 'a: [1,,2]',
    of: /^Unexpected , in/,
    message: 'there is a comma where an entry is expected',
    hint: 'remove the comma',
  },
  {
    mistake: 'a: 1\n]',
    of: /^Unexpected flow-\w+-end token.*?([\]}])/,
    message: 'this `$1` does not close any open bracket',
    hint: 'remove it',
  },
  {
    mistake: 'a: - b',
    of: /^Unexpected block-seq-ind on same line/,
    message: 'a list cannot begin on the line of its key',
    hint: 'begin it on the next line, or write it as `[a, b]`',
  },
  {
    mistake: 'a: |x\n  y',
    of: /^(?:Block scalar header|Not a YAML token)/,
    message: 'there is text on the line after `|` or `>`',
    hint: 'begin the text on the next line, indented',
  },
  {
    mistake: 'a: `x`',
    of: /cannot start with .*`$/,
    message: 'a value cannot begin with a backtick',
    hint: 'put the value in quotes',
  },
  {
    mistake: 'a: @x',
    of: /cannot start with (?:\w+ )*(?:character )?(\S+)$/,
    message: 'a value cannot begin with `$1` unless it is in quotes',
    hint: 'put the value in quotes',
  },
  {
    mistake: 'a: "x',
    of: /^Missing closing/,
    message: 'a quote opens before this location and is not closed',
    hint: 'close the quote',
  },
  {
    mistake: 'a: ["x" "y"]',
    of: /^Missing , /,
    message: 'a comma is missing between two entries',
    hint: 'write a comma before this entry',
  },
  {
    mistake: 'a: 1\nport 2\n',
    of: /^Implicit map keys need to be followed/,
    message: 'this line has no colon',
    hint: 'write `key: value`',
  },
  {
    mistake: 'gateway\n  port: 1',
    of: /on a single line$/,
    message: 'this key has no colon on its line',
    hint: 'write `key:`, and close every quote before it',
  },
  {
    mistake: 'a: "x"#c',
    of: /^Comments must be separated/,
    message: 'a space is missing before `#`',
    hint: 'write a space before a comment; put a value that contains `#` in quotes',
  },
  {
    mistake: 'a: "x\\d"',
    of: /escape sequence (.+)$/,
    message: '`$1` has no meaning in double quotes',
    hint: 'use single quotes',
  },
  {
    mistake: 'a: !!foo x',
    of: /^Unresolved tag: tag:yaml\.org,2002:(.+)$/,
    message: '`!!$1` is a tag, which policies do not support',
  },
  { mistake: 'a: !env X', of: /^Unresolved tag: (.+)$/, message: '`$1` is a tag, which policies do not support' },
  {
    mistake: 'a: &x &y 1',
    of: /^(?:Tags and anchors|Anchors? |Alias |An alias|A node can have|With stringKeys)/,
    message: FEATURE,
  },
  {
    mistake: 'a: [1, 2\nb: 3',
    of: /must (?:be sufficiently indented and )?end with a (.)$/,
    message: 'a bracket is not closed: `$1` is missing',
  },
  {
    mistake: 'a: {b: 1 c: 2}',
    of: /^Block collections are not allowed within flow/,
    message: 'a comma is missing here, or brackets around an inner map or list',
  },
  {
    mistake: '"a" "b": 1',
    of: /^Unexpected [\w-]+ token/,
    message: 'this text does not belong to a key',
    hint: 'check the quotes, brackets and indentation here and above',
  },
  {
    mistake: '['.repeat(20_000),
    of: /call stack|too deep|nest/i,
    message: 'maps and lists are nested too deeply',
  },
  { mistake: 'a:\n  - b\n  c\n', of: 'BAD_INDENT', message: 'the indentation does not match the lines above' },
];

/** Translations of errors of the YAML library into Signalbox's own words. */
export const YAML_FAULTS: readonly Courtesy<YAMLError, YamlFault>[] = WORDINGS.map(
  ({ mistake, of, message: wording, hint }) => ({
    mistake,
    answer({ code, message }) {
      const found = typeof of === 'string' ? code === of : of.exec(message);
      if (!found) return undefined;
      const [, part = ''] = found === true ? [] : found;
      return { message: wording.replace('$1', () => part), ...(hint !== undefined && { hint }) };
    },
  }),
);

const UNKNOWN: YamlFault = {
  message: 'this is not valid YAML',
  hint: 'check the quotes, brackets and indentation here and above',
};

/** Translates an error of the YAML library into Signalbox's own words. */
export const yamlFault = (error: YAMLError): YamlFault => answerTo(YAML_FAULTS, error) ?? UNKNOWN;
