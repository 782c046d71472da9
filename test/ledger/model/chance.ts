import { randomFrom } from '../../deep/effort.ts';
import { type Kind, localDay, spanOf } from './calendar.ts';
import { type Action, type BudgetSpec, isAddress, type Terms, type Who } from './entries.ts';

/** The random choices of a run. The same seed always makes the same choices. */
export class Chance {
  readonly #random: () => number;
  #names = 0;

  constructor(seed: number) {
    this.#random = randomFrom(seed);
  }

  /** A whole number from `least` to `most`. */
  int(least: number, most: number): number {
    return least + Math.floor(this.#random() * (most - least + 1));
  }
  one<T>(list: readonly T[]): T {
    return list[this.int(0, list.length - 1)]!;
  }
  /** A random element of the list, or undefined if the list is empty. */
  any<T>(list: readonly T[]): T | undefined {
    return list.length === 0 ? undefined : this.one(list);
  }
  yes(share: number): boolean {
    return this.#random() < share;
  }

  /** A random name, chosen according to its weight. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const names = Object.keys(weights) as Name[];
    let at = this.#random() * names.reduce((total, name) => total + weights[name], 0);
    for (const name of names) {
      at -= weights[name];
      if (at < 0) return name;
    }
    return names[0]!;
  }

  who(): Who {
    return { ...this.one(KEYS), model: this.one(['auto', 'auto', 'fast']) };
  }

  /** A random payer for a request. */
  payer({ keyId }: Who): string | null {
    return isAddress(keyId) || this.yes(0.8) ? null : this.one(WALLETS);
  }

  budget(name: string): BudgetSpec {
    return {
      name,
      match: this.one(['all', 'all', 'all', 'team', 'auto', 'throws']),
      each: this.one(['everyone', 'everyone', 'key', 'team', 'throws']),
      window: this.one<Kind>(['day', 'day', 'week', 'month', 'total']),
      zone: this.one(ZONES),
      limit: this.int(20, 1_200),
      action: this.action(),
    };
  }

  action(): Action {
    return this.one(['cap', 'cap', 'reject', 'downgrade']);
  }

  /** A random change of a policy. The edit keeps the order of the budgets. */
  edit({ budgets }: Terms): Terms {
    const edited = budgets.flatMap((spec): BudgetSpec[] => {
      const how = this.weighted({ same: 5, limit: 4, definition: 3, name: 1, gone: 1 });
      if (how === 'gone') return [];
      if (how === 'limit') return [{ ...spec, limit: this.int(20, 1_200), action: this.action() }];
      if (how === 'definition') return [this.budget(spec.name)];
      return [how === 'name' ? { ...spec, name: this.#newName() } : spec];
    });
    while (edited.length < 3 && this.yes(0.6)) edited.push(this.budget(this.#newName()));
    return { budgets: edited, onCrash: this.one(['charge', 'charge', 'release']) };
  }

  /** A cost, usually within the hold. */
  cost(left: number): number {
    return this.yes(0.12)
      ? this.one([Number.NaN, -1, 1e308, 0.5, left + this.int(1, 50), Number.POSITIVE_INFINITY])
      : this.int(0, left);
  }

  /** A later time, often near the end of a window or on a day with a clock change. */
  later(now: number, { budgets }: Terms): number {
    const how = this.weighted({ little: 4, boundary: 4, change: 1, hours: 2, days: 1, month: 0.3 });
    if (how === 'boundary' && budgets.length > 0) {
      const { window, zone } = this.one(budgets);
      const { ends } = spanOf(window === 'total' ? 'day' : window, zone, now);
      return Math.max(now, ends + this.one([-1, 0, 1, 1_000, 1_800_000, -1_800_000]));
    }
    if (how === 'change') return clockChanges().find((at) => at > now) ?? now;
    const longest = { little: 5_000, boundary: 60_000, hours: 20 * 3_600_000, days: 5 * DAY_MS, month: 35 * DAY_MS };
    return now + this.int(0, longest[how]);
  }

  /** A start time, usually shortly before a clock change. */
  start(): number {
    return this.one(clockChanges().slice(0, 8)) - this.int(0, 2 * DAY_MS);
  }

  #newName(): string {
    return `budget-${++this.#names}`;
  }
}

export const WALLETS: readonly string[] = [`0x${'a1'.repeat(20)}`, `0x${'b2'.repeat(20)}`];

/** Wallets are callers, too. */
export const KEYS: readonly Omit<Who, 'model'>[] = [
  { keyId: 'k1', labels: { team: 'x' } },
  { keyId: 'k2', labels: { team: 'x' } },
  { keyId: 'k3', labels: { team: 'y' } },
  { keyId: 'k4', labels: {} },
  ...WALLETS.map((keyId) => ({ keyId, labels: {} })),
];

const ZONES = ['Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'UTC'];
const DAY_MS = 86_400_000;

let changes: number[] | null = null;
/** The starts of local days that are not 24 hours long, from 2026 to 2028. */
function clockChanges(): readonly number[] {
  changes ??= ZONES.flatMap((zone) => {
    const found: number[] = [];
    const first = localDay(zone, Date.UTC(2026, 1, 1));
    for (let day = 0; day < 1_000; day++) {
      const { starts, ends } = spanOf('day', zone, (first + day) * DAY_MS + DAY_MS / 2);
      if (ends - starts !== DAY_MS) found.push(starts);
    }
    return found;
  }).sort((a, b) => a - b);
  return changes;
}
