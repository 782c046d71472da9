import { listOf } from '../../api/json.ts';
import { type Coder, numberOf } from '../../kit/draft.ts';

/** The members that an object of this form has, as texts; what is missing or null is empty. */
const textsOf = (form: object, value: unknown): Texts => {
  const members: Readonly<Record<string, unknown>> = typeof value === 'object' ? { ...value } : {};
  return Object.fromEntries(Object.keys(form).map((name) => [name, String(members[name] ?? '')]));
};

/** Members as they are typed: what is wrong with them is left to the server. */
export type Texts = Readonly<Record<string, string>>;

/** IDs of models, and patterns; none are all. */
export const MODELS: Coder<readonly string[]> = {
  read: (value) => listOf(value).map(String),
  write: (value) => (value.length === 0 ? null : value),
};

/** Scopes of a key. */
export const SCOPES: Coder<readonly string[]> = {
  read: MODELS.read,
  write: (value) => value,
};

const NO_LIMITS = { requests_per_minute: null, tokens_per_minute: null, concurrent_streams: null };

/** Rate limits. Those that do not differ stay out, and so stay as they are. */
export const LIMITS: Coder<Texts> = {
  read: (value) => textsOf(NO_LIMITS, value),
  write: (value, before) =>
    Object.fromEntries(
      Object.entries(value).flatMap(([name, text]) => (text === before[name] ? [] : [[name, numberOf(text)]])),
    ),
};

export const NEW_BUDGET: Texts = { limit_credits: '', window: 'month', time_zone: 'UTC', on_exhausted: 'cap' };

/** Budgets, which are sent as a whole. */
export const BUDGETS: Coder<readonly Texts[]> = {
  read: (value) => listOf(value).map((budget) => textsOf(NEW_BUDGET, budget)),
  write: (value) =>
    value.length === 0
      ? null
      : value.map(({ limit_credits = '', time_zone = '', ...rest }) => ({
          ...{ ...rest, limit_credits: numberOf(limit_credits) ?? '', time_zone: time_zone.trim() || 'UTC' },
        })),
};

/** Labels, one a line. Those that are gone are sent as null. */
export const LABELS: Coder<unknown> = {
  read: (value) =>
    Object.entries(value ?? {})
      .map(([name, of]) => `${name}=${of}`)
      .join('\n'),
  write(value, before) {
    const [now, then] = [labelsIn(String(value)), labelsIn(String(before))];
    const gone = [...then.keys()].filter((name) => !now.has(name)).map((name) => [name, null]);
    return Object.fromEntries([...[...now].filter(([name, of]) => then.get(name) !== of), ...gone]);
  },
};

const labelsIn = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text.split('\n').flatMap((line) => {
      const [name = '', ...value] = line.split('=');
      return name.trim() === '' ? [] : [[name.trim(), value.join('=').trim()] as const];
    }),
  );

const pad = (part: number): string => String(part).padStart(2, '0');

/** A moment as a day where the viewer is, whose end is sent. A text that is no day is sent as it is. */
export const LAST_DAY: Coder<unknown> = {
  read(value) {
    if (typeof value !== 'string') return '';
    const date = new Date(value);
    return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  },
  write(value) {
    const end = new Date(`${value}T23:59:59`);
    return value === '' ? null : Number.isNaN(end.getTime()) ? value : end.toISOString();
  },
};

/** The same as seconds from now. */
export const LIFETIME: Coder<unknown> = {
  ...LAST_DAY,
  write(value, before) {
    const end = LAST_DAY.write(value, before);
    return typeof end === 'string' ? Math.round((Date.parse(end) - Date.now()) / 1_000) : null;
  },
};
