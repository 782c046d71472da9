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
  /** Line of each key, by `lineKey`; from 1. */
  readonly lines: ReadonlyMap<string, number>;
}

export const exact = (text: string): ExactNumber => ({ exact: text });
export const block = (...fields: readonly (Field | null)[]): FieldBlock => ({
  fields: fields.filter((one) => one !== null),
});
export const flow = (entries: Readonly<Record<string, PolicyValue | undefined>>): FieldBlock => ({
  isFlow: true,
  fields: Object.entries(entries).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value }])),
});
export const field = (key: string, value: PolicyValue, more: Omit<Field, 'key' | 'value'> = {}): Field => ({
  key,
  value,
  ...more,
});

const WIDTH = 120;
const COMMENT_WIDTH = 110;

/** The key of a policy path in `lines`. */
export const lineKey = (path: readonly string[]): string => path.join('\n');

/**
 * Writes a policy file in the format of `signalbox policy fmt`.
 * @param head comment lines at the top of the file
 */
export function writeFile(name: string, head: readonly string[], fields: readonly Field[]): PolicyText {
  const writer = new YamlWriter();
  for (const line of head) writer.comment(line, 0);
  writer.fields(fields, 0, []);
  return { name, text: `${writer.out.join('\n')}\n`, lines: writer.lines };
}

class YamlWriter {
  readonly out: string[] = [];
  readonly lines = new Map<string, number>();

  comment(text: string, indent: number): void {
    for (const line of wrap(text, COMMENT_WIDTH - indent)) this.out.push(`${' '.repeat(indent)}# ${line}`.trimEnd());
  }

  fields(fields: readonly Field[], indent: number, path: readonly string[], first = ''): void {
    let lead = first;
    for (const one of fields) {
      if (one.isApart && lead === '') this.out.push('');
      for (const text of one.above ?? []) this.comment(text, lead === '' ? indent : indent - 2);
      const margin = lead === '' ? ' '.repeat(indent) : lead;
      lead = '';
      this.#field(one, margin, indent, [...path, one.key]);
    }
  }

  #field({ key, value, beside }: Field, margin: string, indent: number, path: readonly string[]): void {
    const name = `${margin}${scalarText(key, false)}:`;
    const end = beside === undefined ? '' : ` # ${beside}`;
    this.lines.set(lineKey(path), this.out.length + 1);
    const inline = inlineText(value, isList(value) ? !value.some(isFields) : isFields(value) && value.isFlow === true);
    if (inline !== null && (`${name} ${inline}`.length <= WIDTH || !isCompound(value))) {
      this.out.push(`${name} ${inline}${end}`);
      this.#inner(value, path, this.out.length);
      return;
    }
    this.out.push(`${name}${end}`);
    if (isFields(value)) this.fields(value.fields, indent + 2, path);
    if (isList(value)) this.#items(value, indent + 2, path);
  }

  #items(items: readonly PolicyValue[], indent: number, path: readonly string[]): void {
    for (const [at, item] of items.entries()) {
      const lead = `${' '.repeat(indent)}- `;
      const here = [...path, nameIn(item) ?? String(at)];
      this.lines.set(lineKey(here), this.out.length + 1);
      const inline = inlineText(item, !isFields(item) || item.isFlow === true);
      if (inline !== null && lead.length + inline.length <= WIDTH) {
        this.out.push(`${lead}${inline}`);
        this.#inner(item, here, this.out.length);
      } else if (isFields(item)) this.fields(item.fields, indent + 2, here, lead);
      else this.out.push(`${lead}${inline ?? ''}`);
    }
  }

  /** Records the line of keys that share one. */
  #inner(value: PolicyValue, path: readonly string[], line: number): void {
    if (!isFields(value)) return;
    for (const one of value.fields) {
      this.lines.set(lineKey([...path, one.key]), line);
      this.#inner(one.value, [...path, one.key], line);
    }
  }
}

const isList = (value: PolicyValue): value is readonly PolicyValue[] => Array.isArray(value);
const isFields = (value: PolicyValue): value is FieldBlock => typeof value === 'object' && 'fields' in value;
const isCompound = (value: PolicyValue): boolean => isList(value) || isFields(value);

/** The `name` of a list item. */
function nameIn(item: PolicyValue): string | null {
  const name = isFields(item) ? item.fields.find(({ key }) => key === 'name')?.value : null;
  return typeof name === 'string' ? name : null;
}

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

/** Breaks a text at spaces into lines of at most `width` characters. */
function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let line = '';
    for (const word of paragraph.split(' ')) {
      if (line !== '' && line.length + 1 + word.length > width) {
        lines.push(line);
        line = word;
      } else line = line === '' ? word : `${line} ${word}`;
    }
    lines.push(line);
  }
  return lines;
}
