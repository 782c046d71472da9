import type { OpenStore } from '../../store/driver.ts';
import { NEWS_SUBJECTS, type NewsSubject } from '../../store/news.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** The place of this server among those of its store, and how old its copies are. */
export interface InstanceStatus {
  /** The build that answers. */
  readonly version: string;
  /** The policy in force here. */
  readonly policyRevision: string;
  readonly slot: number;
  readonly epoch: number;
  readonly isCurrent: boolean;
  /** One sentence on what happened and what to do; null while it is current. */
  readonly problem: string | null;
  /** The store's clock less the server's, ms. */
  readonly clockOffsetMs: number;
  readonly copies: readonly CopyAge[];
}

interface CopyAge {
  readonly subject: NewsSubject;
  /** ms; null before the first reading. */
  readonly ageMs: number | null;
}

export function instanceStatus(
  by: Principal,
  { instance, news }: Pick<OpenStore, 'instance' | 'news'>,
  build: Pick<InstanceStatus, 'version' | 'policyRevision'>,
): InstanceStatus {
  checkAction(by.caller, 'status.read');
  const { slot, epoch, isCurrent, fenced, clockOffsetMs } = instance;
  const copies = NEWS_SUBJECTS.map((subject) => ({ subject, ageMs: wholeOf(news.ageOf(subject)) }));
  return { ...build, slot, epoch, isCurrent, problem: fenced, clockOffsetMs, copies };
}

const wholeOf = (ageMs: number): number | null => (Number.isFinite(ageMs) ? Math.round(ageMs) : null);
