import { defineGuard, findCards, findEmails, findIbans, findIps, findPhones, Type } from 'signalbox/plugin';
import { type Country, findNationalNumbers, NATIONAL_NUMBERS } from './national-numbers.ts';
import { type Finder, matchesIn } from './spans.ts';

/** The finders in the order of their certainty, the most certain first. `national` stands for all chosen countries. */
const FINDERS = {
  email: findEmails,
  iban: findIbans,
  card: findCards,
  national: null,
  ip: findIps,
  phone: findPhones,
} as const;

type Kind = keyof typeof FINDERS;
const KINDS = Object.keys(FINDERS) as Kind[];
const COUNTRIES = Object.keys(NATIONAL_NUMBERS) as Country[];

/** An address of e-mail has at most 64 characters before its `@` and 253 after it. */
const REACH = 320;

const wordsOf = <Word extends string>(words: readonly Word[], description: string) =>
  Type.Unsafe<Word>(
    Type.Union(
      words.map((word) => Type.Literal(word)),
      { description },
    ),
  );

/** Finds addresses of e-mail, numbers of phones, cards and bank accounts, and national numbers of persons. */
export const personalData = defineGuard({
  name: 'personal-data',
  status: 'alpha',
  settings: Type.Object(
    {
      kinds: Type.Array(wordsOf(KINDS, 'A kind of personal data.'), {
        minItems: 1,
        uniqueItems: true,
        default: ['email', 'phone', 'card', 'iban', 'national'],
        examples: [['email', 'card']],
        description:
          'The kinds to find: `email`, `phone`, `card` (payment cards with a correct check digit), `iban` (bank accounts with correct check digits), `national` (numbers of persons) and `ip` (addresses of machines).',
      }),
      countries: Type.Array(wordsOf(COUNTRIES, 'A country.'), {
        minItems: 1,
        uniqueItems: true,
        default: COUNTRIES,
        examples: [['de', 'fr']],
        description: 'The countries whose national numbers are found.',
      }),
    },
    { additionalProperties: false },
  ),
  pure: true,
  window: 'message',
  sides: ['input', 'output'],
  prepare({ kinds, countries }) {
    const finders = KINDS.filter((kind) => kinds.includes(kind)).flatMap((kind): Finder[] => {
      const find = FINDERS[kind];
      return find ? [[kind, find]] : countries.map((country) => [`national-${country}`, findNationalNumbers(country)]);
    });
    return {
      kinds: finders.map(([kind]) => kind),
      reach: REACH,
      takesSteps: true,
      check: (window) => matchesIn(window, finders),
    };
  },
});
