/** The dates and versions that services put behind a name: `-2025-08-07`, `-20251001`, `-09-2025`, `-0613`, `-001`, `-latest`. */
const DATED = /(?:[-@:](?:\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|00\d|latest))+$/;

/** The name that all writings of a provider's model share: without date, capitals and the `models/` of Gemini. */
export const undated = (upstream: string): string =>
  upstream
    .toLowerCase()
    .replace(/^models\//, '')
    .replace(DATED, '');

/** The most characters of a name. */
const NAME_MAX = 128;

/** Whether a name may be an ID: no part of it can lead elsewhere where an adapter puts it into a path. */
export const isWellFormed = (name: string): boolean =>
  name.length <= NAME_MAX &&
  /^[A-Za-z0-9._:/@-]+$/.test(name) &&
  !name.includes('..') &&
  name.split('/').every((part) => part !== '' && part !== '.');

/** Suffixes and prefixes of a service's own by which it is another model, or another bill: `:online`, `ft:`, `@preset/x`. */
const ANOTHER_BILL = /[:@]|^openrouter\/|^auto$/;
/** A model that a program on your machine has another machine run, for money. */
const ELSEWHERE = /[:-]cloud$|^@/;

/** Whether a part of a provider's name of a model changes its bill or the model behind it. */
export const changesBill = (upstream: string, isHosted: boolean): boolean =>
  (isHosted ? ANOTHER_BILL : ELSEWHERE).test(upstream);
