import { wrapped } from '../../core/text/text.ts';

/** A value of a policy file. */
export type PolicyValue = string | number | boolean | ExactNumber | readonly PolicyValue[] | FieldBlock;

/** A number with the exact digits to write. */
interface ExactNumber {
  readonly exact: string;
}
export interface FieldBlock {
  readonly fields: readonly Field[];
  /** Whether to write the value on one line if it fits. The fields of a value on one line have no comments. */
  readonly isFlow?: boolean;
}
export interface Field {
  readonly key: string;
  readonly value: PolicyValue;
  /** Comments on the lines before the field. */
  readonly above?: readonly string[];
  /** A comment at the end of the line. */
  readonly beside?: string;
  /** Whether an empty line comes before the field. */
  readonly isApart?: boolean;
}

export interface PolicyText {
  readonly name: string;
  readonly text: string;
}

export const exact = (text: string): ExactNumber => ({ exact: text });

export const block = (...fields: readonly (Field | null)[]): FieldBlock => ({
  fields: fields.filter((one) => one !== null),
});

export const flow = (entries: Readonly<Record<string, PolicyValue | null | undefined>>): FieldBlock => ({
  ...block(...Object.entries(entries).map(([key, value]) => field(key, value))),
  isFlow: true,
});

/** Makes a field; null if the value is null. */
export function field(
  key: string,
  value: PolicyValue | null | undefined,
  more: Omit<Field, 'key' | 'value'> = {},
): Field | null {
  return value === null || value === undefined ? null : { key, value, ...more };
}

/** A placeholder for a figure that the source does not state, in an entry that is written as a comment. */
export const ASK = exact('?');

/** Returns a list, or null for an empty list. */
export const some = <T>(items: readonly T[]): readonly T[] | null => (items.length > 0 ? items : null);

/** Writes the condition that a field equals one of these names. */
export function isOneOf(path: string, names: readonly string[]): string {
  const texts = names.map((name) => JSON.stringify(name));
  return texts.length === 1 ? `${path} == ${texts[0]}` : `${path} in [${texts.join(', ')}]`;
}

const WIDTH = 120;
const COMMENT_WIDTH = 110;

/**
 * Writes a policy file in the format of prettier with lines of 120 columns.
 * @param head comment lines at the top of the file
 */
export function writeFile(name: string, head: readonly string[], ...fields: readonly (Field | null)[]): PolicyText {
  const lines = [...head.flatMap((text) => commentLines(text, 0)), ...blockLines(block(...fields), 0)];
  return { name, text: `${lines.join('\n')}\n` };
}

/** Writes fields as comments, for entries that an operator has to decide about. */
export const commentedText = (indent: number, ...fields: readonly (Field | null)[]): string =>
  blockLines(block(...fields), 0)
    .map((line) => `${' '.repeat(indent)}# ${line}\n`)
    .join('');

const commentLines = (text: string, indent: number): string[] =>
  text
    .split('\n')
    .flatMap((paragraph) => wrapped(paragraph, COMMENT_WIDTH - indent))
    .map((line) => `${' '.repeat(indent)}# ${line}`.trimEnd());

/** @param dash the list dash before the first field; empty for none */
function blockLines({ fields }: FieldBlock, indent: number, dash = ''): string[] {
  return fields.flatMap((one, at) => {
    const isAfterDash = at === 0 && dash !== '';
    return [
      ...(one.isApart && !isAfterDash ? [''] : []),
      ...(one.above ?? []).flatMap((text) => commentLines(text, isAfterDash ? indent - 2 : indent)),
      ...fieldLines(one, isAfterDash ? dash : ' '.repeat(indent), indent),
    ];
  });
}

function fieldLines({ key, value, beside }: Field, margin: string, indent: number): string[] {
  const name = `${margin}${scalarText(key, false)}:`;
  const end = beside === undefined ? '' : ` # ${beside}`;
  const line = `${name} ${inlineText(value)}`;
  if (!isList(value) && !isFields(value)) return [line + end];
  if (isForOneLine(value) && line.length <= WIDTH) return [line + end];
  const inner = isList(value) ? value.flatMap((item) => itemLines(item, indent + 2)) : blockLines(value, indent + 2);
  return [`${name}${end}`, ...inner];
}

function itemLines(item: PolicyValue, indent: number): string[] {
  const dash = `${' '.repeat(indent)}- `;
  const line = dash + inlineText(item);
  const isBlock = isFields(item) && !(isForOneLine(item) && line.length <= WIDTH);
  return isBlock ? blockLines(item, indent + 2, dash) : [line];
}

const isList = (value: PolicyValue): value is readonly PolicyValue[] => Array.isArray(value);
const isFields = (value: PolicyValue): value is FieldBlock => typeof value === 'object' && 'fields' in value;
const isForOneLine = (value: readonly PolicyValue[] | FieldBlock): boolean =>
  isList(value) ? !value.some(isFields) : value.isFlow === true || value.fields.length === 0;

/** Writes a value on one line, without comments. */
function inlineText(value: PolicyValue, inFlow = false): string {
  if (typeof value === 'string') return scalarText(value, inFlow);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (isList(value)) return `[${value.map((item) => inlineText(item, true)).join(', ')}]`;
  if (!isFields(value)) return value.exact;
  const parts = value.fields.map(({ key, value: inner }) => `${scalarText(key, true)}: ${inlineText(inner, true)}`);
  return parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`;
}

/** Texts that YAML 1.1 or 1.2 reads as another type, and that therefore need quotes. */
const OTHER_THAN_TEXT = /^(?:true|false|yes|no|on|off|null|y|n|~)$|^[-+.\d]/i;
const PLAIN = /^[A-Za-z0-9_./][^\n\r\t]*$/;

function scalarText(text: string, inFlow: boolean): string {
  const isPlain =
    PLAIN.test(text) &&
    !OTHER_THAN_TEXT.test(text) &&
    !/: | #|[:\s]$/.test(text) &&
    !(inFlow && /[,[\]{}"'?]/.test(text));
  if (isPlain) return text;
  return text.includes('"') && !text.includes("'") && !/[\\\n\r\t]/.test(text) ? `'${text}'` : JSON.stringify(text);
}
