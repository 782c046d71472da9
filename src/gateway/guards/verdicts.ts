import type { GuardMatch, GuardSide } from '../../contract/guard.ts';
import type { GuardVerdict, VerdictAction } from '../../core/decision/verdict.ts';
import type { GuardRule, Unreadable } from '../../core/policy/guards.ts';
import type { GuardCounts } from '../../core/policy/rules.ts';
import { messageOf } from '../../core/thrown.ts';
import { scrub } from '../../host/telemetry/secrets.ts';

/** The longest stored reason of a failure, characters. */
const REASON_MAX = 200;

/** The verdicts of the guards of one request. They contain names of the policy and of plugins, numbers, and reasons of failures; no text. */
export class Verdicts {
  readonly #inspected = new Set<string>();
  readonly #verdicts = new Map<string, { -readonly [Key in keyof GuardVerdict]: GuardVerdict[Key] }>();

  /** Adds matches of a guard. @param action what the matches led to; a match that cannot be masked blocks */
  add(
    { name: guard, onMatch }: GuardRule,
    side: GuardSide,
    matches: readonly GuardMatch[],
    action: VerdictAction = onMatch,
  ): void {
    const verdict = this.#of(guard, side, action);
    const counts: Record<string, number> = { ...verdict.matches };
    for (const { kind } of matches) counts[kind] = (counts[kind] ?? 0) + 1;
    verdict.matches = counts;
  }

  /** Notes that a guard failed. @param cause what it threw */
  fail({ name, onFailure }: GuardRule, side: GuardSide, cause: unknown): void {
    const verdict = this.#of(name, side, onFailure);
    verdict.failed = true;
    verdict.reason = scrub(messageOf(cause)).slice(0, REASON_MAX);
  }

  /** Notes that a guard has inspected a text. */
  inspected({ name }: GuardRule): void {
    this.#inspected.add(name);
  }

  /** The guards that have inspected a text, also if they failed at another. */
  get working(): ReadonlySet<string> {
    return this.#inspected;
  }

  /** Notes that a guard refused content that it cannot read. */
  refuse({ name }: GuardRule, kind: Unreadable): void {
    this.#of(name, 'input', 'block').unreadable = kind;
  }

  /** The verdicts in their order; empty if no guard found anything. */
  get all(): readonly GuardVerdict[] {
    return this.#verdicts.size === 0 ? NONE : [...this.#verdicts.values()].map((verdict) => ({ ...verdict }));
  }

  /** How many matches each guard found in the request; undefined if none found one. */
  get inputCounts(): GuardCounts | undefined {
    const counts: Record<string, number> = {};
    for (const { guard, side, matches } of this.#verdicts.values()) {
      if (side === 'input')
        counts[guard] = (counts[guard] ?? 0) + Object.values(matches).reduce((sum, count) => sum + count, 0);
    }
    return Object.keys(counts).length === 0 ? undefined : counts;
  }

  #of(guard: string, side: GuardSide, action: VerdictAction) {
    return this.#verdicts.getOrInsertComputed(`${guard} ${side} ${action}`, () => ({
      guard,
      side,
      action,
      matches: {},
    }));
  }
}

const NONE: readonly GuardVerdict[] = [];
