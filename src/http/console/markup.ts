/** A piece of trusted HTML. */
export interface Markup {
  readonly markup: string;
}

/** Makes HTML from a template. Text values are escaped, lists are joined, and null is empty. */
export function html(
  parts: TemplateStringsArray,
  ...values: readonly (MarkupValue | readonly MarkupValue[])[]
): Markup {
  const texts = values.map((value) => [value].flat().map(markupOf).join(''));
  return { markup: parts.map((part, at) => part + (texts[at] ?? '')).join('') };
}

type MarkupValue = Markup | string | null;

const markupOf = (value: MarkupValue): string =>
  value === null ? '' : typeof value === 'string' ? escaped(value) : value.markup;

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '');
