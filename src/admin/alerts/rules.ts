import type { AlertSubject } from '../../core/people/alert.ts';
import type { AlertRule } from '../../core/policy/alerts.ts';
import type { AlertFindings, LastingState, NotedSubject, SubjectId } from '../../core/tables/alerts/define.ts';
import { ALERT_EVENTS, type AlertReadings, findAlerts } from '../../core/tables/alerts/index.ts';
import type { AlertMark, AlertMarkChange } from '../../store/alerts.ts';
import type { InstanceName } from '../../store/instance.ts';

/** A problem that begins again within this time after its end is a flap, and is reported only if it lasts until then, ms. */
export const FLAP_MS = 120_000;
/** After a message about budgets or keys, a rule waits this long and then sends all new findings together, ms. */
export const GATHER_MS = 300_000;
/** The most subjects in one message. The next message has the remaining subjects. */
const FINDINGS_MAX = 2_000;
/** A subject of an alert, and the mark that records that the subject was reported. */
export interface AlertFinding {
  readonly change: AlertMarkChange;
  readonly line: string;
  readonly subject: AlertSubject;
}

/** A message that is due. */
export interface DueAlert {
  readonly rule: AlertRule;
  readonly type: 'alert' | 'recovery';
  /** The findings of the alert, at least one, with the most urgent finding first. */
  readonly findings: readonly AlertFinding[];
}

export interface AlertJudgement {
  readonly alerts: readonly DueAlert[];
  /** Open marks whose rule or subject no longer exists. The marks of deleted rules or subjects are closed without a message. */
  readonly stale: readonly AlertMarkChange[];
}

export interface AlertMemory {
  /** Marks of what was already reported, by ID. */
  readonly marks: ReadonlyMap<string, AlertMark>;
  /** Whether this instance may close an open mark: it may close its own marks and the marks of instances that have ended. */
  mayClose(mark: AlertMark): boolean;
  /** The instance that checks the rules. */
  readonly owner: InstanceName;
  /** ms since 1970 */
  readonly now: number;
}

/**
 * Returns the alerts that are due. This function is pure. A rule reports a budget once for each threshold and window, and a key once for
 * each of its configured days before expiry. A rule reports a lasting problem when the problem begins and when it ends. A problem that
 * begins again within `FLAP_MS` is reported only if it lasts until then.
 */
export function dueAlerts(rules: readonly AlertRule[], readings: AlertReadings, memory: AlertMemory): AlertJudgement {
  const judges = rules.map((rule) => new RuleJudge(rule, memory));
  const alerts = judges.flatMap((judge) => judge.judge(readings));
  const lasting = new Set(judges.flatMap(({ lasting }) => [...lasting]));
  const stale = [...memory.marks.values()]
    .filter((mark) => mark.state === 'open' && !lasting.has(mark.id) && memory.mayClose(mark))
    .map((mark): AlertMarkChange => ({ seen: mark, mark: { ...mark, state: 'closed', until: memory.now + FLAP_MS } }));
  return { alerts, stale };
}

/** Checks one rule. */
class RuleJudge implements AlertFindings {
  readonly now: number;
  /** IDs of the marks of all problems that the rule can currently report as lasting. */
  readonly lasting = new Set<string>();
  readonly #rule: AlertRule;
  readonly #memory: AlertMemory;
  readonly #found: AlertFinding[] = [];
  readonly #over: AlertFinding[] = [];

  constructor(rule: AlertRule, memory: AlertMemory) {
    this.now = memory.now;
    this.#rule = rule;
    this.#memory = memory;
  }

  judge(readings: AlertReadings): DueAlert[] {
    const rule = this.#rule;
    if (ALERT_EVENTS[rule.on].gathers && this.#isGathering()) return [];
    findAlerts(rule.on, rule, readings, this);
    const alerts: DueAlert[] = [
      { rule, type: 'alert', findings: this.#found.slice(0, FINDINGS_MAX) },
      { rule, type: 'recovery', findings: this.#over },
    ];
    return alerts.filter(({ findings }) => findings.length > 0);
  }

  hasNoted(subject: SubjectId): boolean {
    return this.#memory.marks.has(this.#id(subject));
  }

  note(subject: SubjectId, { until, line, details }: NotedSubject): void {
    const { marks, now, owner } = this.#memory;
    const id = this.#id(subject);
    if (marks.has(id)) return;
    const mark: AlertMark = { id, state: 'noted', since: now, until, owner };
    this.#found.push({ change: { seen: null, mark }, line, subject: details });
  }

  noteLasting(subject: SubjectId, { isDown, down, up, details }: LastingState): void {
    const { marks, now, owner, mayClose } = this.#memory;
    const id = this.#id(subject);
    this.lasting.add(id);
    const seen = marks.get(id) ?? null;
    // The mark of a problem that is over has the end of its flap as `until`.
    if (isDown && seen?.state !== 'open' && (!seen || now >= seen.until)) {
      const mark: AlertMark = { id, state: 'open', since: now, until: now, owner };
      this.#found.push({ change: { seen, mark }, line: down, subject: details });
    }
    if (isDown === false && seen?.state === 'open' && mayClose(seen)) {
      const mark: AlertMark = { ...seen, state: 'closed', until: now + FLAP_MS, owner };
      this.#over.push({ change: { seen, mark }, line: up(now - seen.since), subject: details });
    }
  }

  #id(subject: SubjectId): string {
    return JSON.stringify([this.#rule.name, this.#rule.on, ...subject]);
  }

  /** Whether the rule sent its last message recently. After a recent message, more findings of the same kind are likely to follow. */
  #isGathering(): boolean {
    const { marks, now } = this.#memory;
    const start = this.#id([]).slice(0, -1);
    return marks.values().some(({ id, since }) => now - since < GATHER_MS && id.startsWith(start));
  }
}
