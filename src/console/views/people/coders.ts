import { clearNumber } from '../../../core/money/amount.ts';
import { listOf, membersOf } from '../../api/json.ts';
import { amountToSend } from '../../design/amount.ts';
import { type Coder, numberOf } from '../../kit/draft.ts';

/** Reads the members of a form as texts. A missing or null member is an empty text. */
const textsOf = (form: object, value: unknown): Texts => {
  const members: Readonly<Record<string, unknown>> = typeof value === 'object' ? { ...value } : {};
  return Object.fromEntries(Object.keys(form).map((name) => [name, String(members[name] ?? '')]));
};

/** Members as the viewer typed them. The server reports mistakes. */
export type Texts = Readonly<Record<string, string>>;

/** Model IDs and patterns. An empty list allows all models. */
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

/** Rate limits. Unchanged limits are not sent. */
export const LIMITS: Coder<Texts> = {
  read: (value) => textsOf(NO_LIMITS, value),
  write: (value, before) =>
    Object.fromEntries(
      Object.entries(value).flatMap(([name, text]) => (text === before[name] ? [] : [[name, numberOf(text)]])),
    ),
};

export const NEW_BUDGET: Texts = {
  limit_credits: '',
  window: 'month',
  time_zone: 'UTC',
  on_exhausted: 'cap',
  until: '',
  // The windows of a budget of a length, which the form keeps as they are; '' for other budgets.
  every: '',
};

/** The limit of a budget as the viewer would type it. The conversion to USD and back is exact. */
function limitIn(budget: unknown): string {
  const { limit_credits = '', limit_usd } = { ...membersOf(budget) };
  return clearNumber(typeof limit_usd === 'string' ? limit_usd : String(limit_credits));
}

/** Budgets, which are always sent as a complete list. */
export const BUDGETS: Coder<readonly Texts[]> = {
  read: (value) =>
    listOf(value).map((budget) => ({
      ...textsOf(NEW_BUDGET, budget),
      limit_credits: limitIn(budget),
      every: JSON.stringify(membersOf(budget)?.every) ?? '',
    })),
  write: (value) =>
    value.length === 0
      ? null
      : value.map(({ limit_credits = '', time_zone = '', until = '', every = '', ...rest }) => ({
          ...{
            ...rest,
            ...(rest.window === 'every' && every !== '' && { every: JSON.parse(every) }),
            ...(until !== '' && { until }),
            limit_credits: amountToSend(limit_credits),
            time_zone: time_zone.trim() || 'UTC',
          },
        })),
};

/** Edits labels as text, with one label on each line. A removed label is sent as null. */
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

/** Shows a moment as a day in the viewer's time zone, and sends the end of that day. A text that is not a day is sent unchanged. */
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

/** Shows a day like `LAST_DAY`, and sends the number of seconds until its end. */
export const LIFETIME: Coder<unknown> = {
  ...LAST_DAY,
  write(value, before) {
    const end = LAST_DAY.write(value, before);
    return typeof end === 'string' ? Math.round((Date.parse(end) - Date.now()) / 1_000) : null;
  },
};
