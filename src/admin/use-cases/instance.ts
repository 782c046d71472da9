import { isOperator } from '../../core/people/caller.ts';
import type { FailingGuard } from '../../core/tables/alerts/guard-failing.ts';
import type { OpenStore } from '../../store/driver.ts';
import { NEWS_SUBJECTS, type NewsSubject } from '../../store/news.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** The slot of this server at its store, and the age of its cached data. */
export interface InstanceStatus {
  /** The build of this server. */
  readonly version: string;
  /** The active policy of this server. */
  readonly policyRevision: string;
  readonly slot: number;
  readonly epoch: number;
  readonly isCurrent: boolean;
  /** One sentence that says why the server may not write, and how to correct it; null while the server may write. */
  readonly problem: string | null;
  /** The store's clock minus the server's clock, ms. */
  readonly clockOffsetMs: number;
  readonly copies: readonly CopyAge[];
  readonly failingGuards: readonly (Omit<FailingGuard, 'error'> & {
    readonly name: string;
    readonly error: string | null;
  })[];
}

interface CopyAge {
  readonly subject: NewsSubject;
  /** Age in ms; null before the first read. */
  readonly ageMs: number | null;
}

export function instanceStatus(
  by: Principal,
  { instance, news }: Pick<OpenStore, 'instance' | 'news'>,
  build: Pick<InstanceStatus, 'version' | 'policyRevision'>,
  failing: Iterable<readonly [name: string, FailingGuard]>,
): InstanceStatus {
  checkAction(by.caller, 'status.read');
  const { slot, epoch, isCurrent, fenced, clockOffsetMs } = instance;
  const copies = NEWS_SUBJECTS.map((subject) => ({ subject, ageMs: wholeOf(news.ageOf(subject)) }));
  const failingGuards = [...failing].map(([name, one]) => ({
    ...{ name, ...one },
    error: isOperator(by.caller) ? one.error : null,
  }));
  return { ...build, slot, epoch, isCurrent, problem: fenced, clockOffsetMs, copies, failingGuards };
}

const wholeOf = (ageMs: number): number | null => (Number.isFinite(ageMs) ? Math.round(ageMs) : null);
