import { wrapped } from '../core/text.ts';

/** A value of a policy file. */
export type PolicyValue = string | number | boolean | ExactNumber | readonly PolicyValue[] | FieldBlock;

/** A number with the digits to write. */
interface ExactNumber {
  readonly exact: string;
}
export interface FieldBlock {
  readonly fields: readonly Field[];
  /** Whether to write it on one line if it fits. */
  readonly isFlow?: boolean;
}
export interface Field {
  readonly key: string;
  readonly value: PolicyValue;
  /** Comments on the lines above. */
  readonly above?: readonly string[];
  /** A comment at the end of the line. */
  readonly beside?: string;
  /** Whether an empty line precedes it. */
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

/** Null without a value. */
export function field(
  key: string,
  value: PolicyValue | null | undefined,
  more: Omit<Field, 'key' | 'value'> = {},
): Field | null {
  return value === null || value === undefined ? null : { key, value, ...more };
}

/** Stands for a figure that nobody stated, in an entry that is a comment. */
export const ASK = exact('?');

/** A list; null for an empty one. */
export const some = <T>(items: readonly T[]): readonly T[] | null => (items.length > 0 ? items : null);

/** The condition that a field is one of these names. */
export function isOneOf(path: string, names: readonly string[]): string {
  const texts = names.map((name) => JSON.stringify(name));
  return texts.length === 1 ? `${path} == ${texts[0]}` : `${path} in [${texts.join(', ')}]`;
}

const WIDTH = 120;
const COMMENT_WIDTH = 110;

/**
 * Writes a policy file in the format of `signalbox policy fmt`.
 * @param head comment lines at the top of the file
 */
export function writeFile(name: string, head: readonly string[], ...fields: readonly (Field | null)[]): PolicyText {
  const lines = [...head.flatMap((text) => commentLines(text, 0)), ...blockLines(block(...fields), 0)];
  return { name, text: `${lines.join('\n')}\n` };
}

/** Writes fields as comments, for entries that wait for a decision. */
export const commentedText = (indent: number, ...fields: readonly (Field | null)[]): string =>
  blockLines(block(...fields), 0)
    .map((line) => `${' '.repeat(indent)}# ${line}\n`)
    .join('');

const commentLines = (text: string, indent: number): string[] =>
  text
    .split('\n')
    .flatMap((paragraph) => wrapped(paragraph, COMMENT_WIDTH - indent))
    .map((line) => `${' '.repeat(indent)}# ${line}`.trimEnd());

/** `dash`: of the list item that the fields are; empty for none. */
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
  const inline = inlineText(value, isList(value) ? !value.some(isFields) : isFields(value) && value.isFlow === true);
  const isCompound = isList(value) || isFields(value);
  if (inline !== null && (`${name} ${inline}`.length <= WIDTH || !isCompound)) return [`${name} ${inline}${end}`];
  const inner = isFields(value) ? blockLines(value, indent + 2) : [];
  const items = isList(value) ? value.flatMap((item) => itemLines(item, indent + 2)) : [];
  return [`${name}${end}`, ...inner, ...items];
}

function itemLines(item: PolicyValue, indent: number): string[] {
  const dash = `${' '.repeat(indent)}- `;
  const inline = inlineText(item, !isFields(item) || item.isFlow === true);
  if (inline !== null && dash.length + inline.length <= WIDTH) return [`${dash}${inline}`];
  return isFields(item) ? blockLines(item, indent + 2, dash) : [`${dash}${inline ?? ''}`];
}

const isList = (value: PolicyValue): value is readonly PolicyValue[] => Array.isArray(value);
const isFields = (value: PolicyValue): value is FieldBlock => typeof value === 'object' && 'fields' in value;

/** The value on one line; null if it has comments or needs lines of its own. */
function inlineText(value: PolicyValue, isFlow: boolean, inFlow = false): string | null {
  if (typeof value === 'string') return scalarText(value, inFlow);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (isList(value)) {
    const items = value.map((item) => inlineText(item, isFlow, true));
    return !isFlow || items.includes(null) ? null : `[${items.join(', ')}]`;
  }
  if (!isFields(value)) return value.exact;
  if (value.fields.length === 0) return '{}';
  if (!isFlow) return null;
  const parts = value.fields.map(({ key, value: inner, above, beside }) => {
    const text = inlineText(inner, true, true);
    return above || beside || text === null ? null : `${scalarText(key, true)}: ${text}`;
  });
  return parts.includes(null) ? null : `{ ${parts.join(', ')} }`;
}

/** Texts that YAML 1.1 or 1.2 reads as another type. */
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
