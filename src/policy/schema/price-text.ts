import { type Static, type TNumber, type TOptional, Type } from '@sinclair/typebox';
import { closed, figure, optional, whole, word } from '../../core/define/fields.ts';
import { day, writtenAs } from '../../core/define/policy-words.ts';
import { BASE_TIERS, PRICED_TIER } from '../../core/money/service-tier.ts';
import { type PartUnit, TOKEN_UNITS, type TokenUnit, UNITS } from '../../core/money/units.ts';

const BASIS_OF_PRICE = {
  'vendor-list': "The vendor's own list.",
  aggregator: 'A public list of many vendors’ prices.',
  own: 'The price that you pay, by contract or because the model is yours.',
  unverified: 'The source is unknown. `policy check` warns about it.',
};
/** The schema checks the price figures as numbers. `readPrice` reads exact decimals from the text. */
const price = (description: string, example: number) => figure(description, { minimum: 0, maximum: 100_000, example });

const rateOf = (unit: TokenUnit) => {
  const [description, example] = UNITS[unit].price;
  const rate = price(description, example);
  return UNITS[unit].rateOf === undefined ? rate : Type.Optional(rate);
};
/** The rates of a price line. */
export const LINE = Object.fromEntries(TOKEN_UNITS.map((unit) => [unit, rateOf(unit)])) as Record<
  PartUnit,
  TOptional<TNumber>
> &
  Record<Exclude<TokenUnit, PartUnit>, TNumber>;

const TierText = closed('A price for requests with long inputs.', {
  over_input_tokens: whole(
    'A request with more input tokens than this is billed completely at the rates of this tier.',
    { minimum: 1, maximum: 100_000_000, example: 200_000 },
  ),
  ...LINE,
});

/** The rates of a price: for short inputs, and for longer ones. */
const RATES = {
  ...LINE,
  tiers: Type.Array(TierText, {
    default: [],
    maxItems: 16,
    description: 'Prices of requests with long inputs, in ascending order.',
  }),
};
/** The rates of a service tier. They are in a map, whose values get no defaults. */
const RatesText = closed('Rates, in USD per 1M tokens.', { ...RATES, tiers: Type.Optional(RATES.tiers) });

/** The days of the week, Monday first, as policies name them. */
export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

const timeOfDay = (description: string, example: string) =>
  Type.String({
    pattern: '^(?:[01]\\d|2[0-3]):[0-5]\\d$|^24:00$',
    expected: 'a time of the day such as 16:30, in UTC',
    examples: [example],
    description,
  });

const HoursText = closed('A price for some hours of the week.', {
  from: timeOfDay('The first minute at which the price applies, in UTC.', '16:30'),
  to: timeOfDay('The first minute after it, in UTC. If it is not after `from`, it is on the next day.', '00:30'),
  days: Type.Array(word(DAYS, 'A day of the week.', 'sat'), {
    minItems: 1,
    uniqueItems: true,
    default: [...DAYS],
    examples: [['sat', 'sun']],
    description: 'The days on which the hours begin, in UTC.',
  }),
  ...RATES,
});

const moment = (description: string) =>
  Type.String({
    pattern: '^\\d{4}-\\d{2}-\\d{2}(?:[T ]\\d{2}:\\d{2}(?::\\d{2})?(?:Z|[+-]\\d{2}:\\d{2}))?$',
    expected: 'a day such as 2026-12-01, which begins at 00:00 UTC, or a moment such as 2026-12-01T16:00:00Z',
    examples: ['2026-12-01'],
    description,
  });

/** What a price says about one period. */
const PERIOD = {
  ...RATES,
  per_request: optional(figure('USD for each request.', { minimum: 0, maximum: 1000, example: 0.005 })),
  tool_uses: Type.Optional(
    Type.Record(
      Type.String({ minLength: 1 }),
      figure('USD for each use of the tool.', { minimum: 0, maximum: 1000, example: 0.01 }),
      { description: 'Prices of the tools that the service runs itself, by name, such as `web_search`.' },
    ),
  ),
  hours: Type.Array(HoursText, {
    default: [],
    maxItems: 16,
    description: 'Prices of some hours of the week. At all other times, the rates of the price itself apply.',
  }),
  service_tiers: Type.Optional(
    Type.Record(
      Type.String({ pattern: PRICED_TIER }),
      // TypeBox fills in the defaults of a record's values only if the values have a default themselves.
      { ...RatesText, default: {} },
      {
        additionalProperties: false,
        expected: `the name of a service tier, in lower case and other than ${BASE_TIERS.map((name) => `\`${name}\``).join(', ')}`,
        examples: [{ flex: { input: 0.125, output: 1 }, priority: { input: 0.45, output: 3.6 } }],
        description:
          'Prices of the service tiers that requests can ask for, by the name that the provider’s answers state, such as `flex` and `priority`. A request for a tier without a price cannot draw on a budget or balance.',
      },
    ),
  ),
  until: Type.Optional(
    moment('The end of the price, with `later` for what follows: the first moment at which it no longer applies.'),
  ),
};

const LaterText = closed('A price that follows.', PERIOD);

export const PriceText = closed(
  'Price of the model, in USD per 1M tokens.',
  {
    ...PERIOD,
    later: Type.Array(LaterText, {
      default: [],
      maxItems: 16,
      description: 'The prices that follow after `until`, in their order. Each except the last has an `until`.',
    }),
    billed_at: Type.Optional(
      word(
        {
          start: 'The moment at which the request is sent.',
          end: 'The moment at which the answer ends.',
        },
        'Which moment of a request decides its price, for a price with `until` or `hours`. Default: the more expensive one counts.',
        'end',
      ),
    ),
    as_of: Type.Optional(day('Date on which you checked the price.')),
    basis: word(BASIS_OF_PRICE, 'Source of the price.', { default: 'unverified', example: 'vendor-list' }),
  },
  writtenAs('input: {value}, output: …'),
);
export type PriceText = Static<typeof PriceText>;
export type LaterText = Static<typeof LaterText>;
export type RatesText = Static<typeof RatesText>;
