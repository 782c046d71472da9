import { checkText } from '../../access/terms.ts';
import { inBatches } from '../../store/batches.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { SubjectRow } from '../../store/subjects.ts';
import { type BlockingSource, changeBlock } from './blocking.ts';
import { type Page, pageOf } from './pages.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** The services that read and block subjects of tokens. */
export interface SubjectSource extends BlockingSource {
  readonly store: Pick<Repositories, 'subjects' | 'blocklist' | 'trail'>;
}

/** A subject, and whether its tokens are refused. */
export interface SubjectState extends SubjectRow {
  readonly isBlocked: boolean;
}

export const SUBJECT_LIMIT = 100;
export const SUBJECT_LIMIT_MAX = 1_000;

/** Returns subjects by their first token, newest first. @param before as in `SubjectTable.list`. Rejects with StoreError. */
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

/** Returns a subject; null for a subject that has not sent a token. Rejects with StoreError. */
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
 * Refuses all tokens of a subject, including tokens that were already checked. If the subject is already blocked, a new note replaces the
 * old one, and the same note changes nothing.
 * @returns false for a subject that has not sent a token
 * @throws KeyTermsError for a note that cannot be stored; rejects with StoreError
 */
export async function blockSubject(by: Principal, source: SubjectSource, id: string, note: string): Promise<boolean> {
  checkAction(by.caller, 'subjects.change');
  checkText('note', note);
  if (!(await source.store.subjects.find(id))) return false;
  await changeBlock(source, by, 'subject', id, note);
  return true;
}

/** Accepts the tokens of a subject again. @returns false for a subject that has not sent a token. Rejects with StoreError. */
export async function unblockSubject(by: Principal, source: SubjectSource, id: string): Promise<boolean> {
  checkAction(by.caller, 'subjects.change');
  if (!(await source.store.subjects.find(id))) return false;
  await changeBlock(source, by, 'subject', id, null);
  return true;
}
