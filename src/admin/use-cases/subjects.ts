import { checkText } from '../../access/terms.ts';
import type { Log } from '../../host/telemetry/log.ts';
import type { Blocklist } from '../../payments/blocklist.ts';
import { inBatches } from '../../store/batches.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { SubjectRow } from '../../store/subjects.ts';
import { requestOf, type TrailAction, type TrailDetails } from '../../store/trail.ts';
import { type Page, pageOf } from './pages.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** What subjects of tokens are read from, and blocked with. */
export interface SubjectSource {
  readonly store: Pick<Repositories, 'subjects' | 'blocklist' | 'trail'>;
  /** That of wallets: both are callers whom their own credentials cannot be taken from. */
  readonly blocklist: Pick<Blocklist, 'add' | 'remove'>;
  readonly log: Pick<Log, 'warn'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** A subject, and whether its tokens are refused. */
export interface SubjectState extends SubjectRow {
  readonly isBlocked: boolean;
}

export const SUBJECT_LIMIT = 100;
export const SUBJECT_LIMIT_MAX = 1_000;

/** Returns the subjects by their first token, newest first. @param before as `SubjectTable.list`. Rejects with StoreError. */
export async function listSubjects(
  by: Principal,
  { store }: Pick<SubjectSource, 'store'>,
  { limit, before }: { readonly limit: number; readonly before: string | null },
): Promise<Page<SubjectRow, SubjectState>> {
  checkAction(by.caller, 'subjects.read');
  const blocked = new Set(await store.blocklist.all());
  const all = inBatches<SubjectRow>((last, most) => store.subjects.list(most, last?.id ?? before));
  return await pageOf(all, limit, async (row) => ({ ...row, isBlocked: blocked.has(row.id) }));
}

/** Returns a subject; null for one that has shown no token. Rejects with StoreError. */
export async function findSubject(
  by: Principal,
  { store }: Pick<SubjectSource, 'store'>,
  id: string,
): Promise<SubjectState | null> {
  checkAction(by.caller, 'subjects.read');
  const row = await store.subjects.find(id);
  return row && { ...row, isBlocked: (await store.blocklist.all()).includes(id) };
}

/**
 * Refuses all tokens of a subject, those that were checked before as well. Blocking it again replaces the note; with the same note it changes
 * nothing.
 * @returns false for a subject that has shown no token
 * @throws KeyTermsError for a note that cannot be kept; rejects with StoreError
 */
export async function blockSubject(by: Principal, source: SubjectSource, id: string, note: string): Promise<boolean> {
  checkAction(by.caller, 'subjects.change');
  checkText('note', note);
  if (!(await source.store.subjects.find(id))) return false;
  const isChanged = await source.blocklist.add(id, note, [lineOf(by, source, 'block', id, { note })]);
  if (isChanged) tell(by, source, 'a subject was blocked', { subject: id, note });
  return true;
}

/** Admits the tokens of a subject again. @returns as `blockSubject`. Rejects with StoreError. */
export async function unblockSubject(by: Principal, source: SubjectSource, id: string): Promise<boolean> {
  checkAction(by.caller, 'subjects.change');
  if (!(await source.store.subjects.find(id))) return false;
  const isChanged = await source.blocklist.remove(id, [lineOf(by, source, 'unblock', id, {})]);
  if (isChanged) tell(by, source, 'a subject was unblocked', { subject: id });
  return true;
}

const lineOf = (
  { actor }: Principal,
  { store, now }: SubjectSource,
  action: TrailAction,
  id: string,
  details: TrailDetails,
) => store.trail.add({ time: now(), actor, action, subject: { kind: 'subject', id }, details });

function tell({ caller, actor }: Principal, { log }: SubjectSource, message: string, details: Record<string, string>) {
  log.warn(message, { ...details, key: caller.keyId, request: requestOf(actor) ?? undefined });
}
