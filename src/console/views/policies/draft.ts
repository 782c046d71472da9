import { computed, effect, signal } from '@preact/signals';
import type { Static } from '@sinclair/typebox';
import type * as tools from '../../../admin/policy-answers.ts';
import { send, sendForText } from '../../api/client.ts';
import type { ApiFailure } from '../../api/failure.ts';
import type { ReadOf } from '../../api/reads.ts';
import { renewAll } from '../../api/resource.ts';
import { toast } from '../../design/toast.tsx';
import { session } from '../../shell/session.ts';
import { shortOf } from './places.ts';
import { inTurn } from './tools.ts';

export type PolicyFiles = ReadOf<'/admin/policy/files'>;

/** The edit of one file. Null is a file that is not there: before, a new one; after, one that is removed. */
interface DraftEdit {
  /** The text that the edit began from. */
  readonly base: string | null;
  readonly text: string | null;
}

/** An edit of the policy that nobody has written yet. It is kept in the memory of the page alone. */
export interface PolicyDraft {
  /** The revision that it began from. */
  readonly revision: string;
  readonly edits: ReadonlyMap<string, DraftEdit>;
}

/** Null while nothing is edited. */
export const draft = signal<PolicyDraft | null>(null);

/** The files of the edit, as the admin API takes them. */
export const changes = computed(() =>
  [...(draft.value?.edits ?? [])]
    .map(([name, { text }]) => ({ name, text }))
    .sort((a, b) => (a.name < b.name ? -1 : 1)),
);

/** The body that asks a tool about the files with the edit. */
export const changesBody = () => (changes.value.length === 0 ? {} : { changes: changes.value });

/** A file whose text is as it began is no edit, and an edit of no file is none. */
function draftOf(revision: string, edits: Iterable<readonly [string, DraftEdit]>): PolicyDraft | null {
  const changed = new Map([...edits].filter(([, { base, text }]) => base !== text));
  return changed.size === 0 ? null : { revision, edits: changed };
}

const storedIn = ({ files }: PolicyFiles, name: string): string | null =>
  files.find((file) => file.name === name)?.text ?? null;

/** Notes the text of a file. */
export function edit(files: PolicyFiles, name: string, text: string | null): void {
  const now = draft.peek() ?? { revision: files.revision, edits: new Map<string, DraftEdit>() };
  const base = now.edits.has(name) ? (now.edits.get(name)?.base ?? null) : storedIn(files, name);
  draft.value = draftOf(now.revision, [...now.edits, [name, { base, text }]]);
}

/** Makes an edit of the stored files, whatever it began from: so its texts can be saved over them. */
export function rebase(files: PolicyFiles, texts: ReadonlyMap<string, string | null>): void {
  const edits = [...texts].map(([name, text]) => [name, { base: storedIn(files, name), text }] as const);
  draft.value = draftOf(files.revision, edits);
}

/** The text of a file with the edit; null where it is removed or unknown. */
export function textOf(files: PolicyFiles, edits: PolicyDraft['edits'] | undefined, name: string): string | null {
  const edited = edits?.get(name);
  return edited ? edited.text : storedIn(files, name);
}

/** The names of all files, new and removed ones too. */
export const namesOf = ({ files }: PolicyFiles, edits: PolicyDraft['edits'] | undefined): readonly string[] =>
  [...new Set([...files.map(({ name }) => name), ...(edits?.keys() ?? [])])].sort();

/** Whom the edit belongs to. */
let owner = '';

// An edit outlives a login that ends under the page, and never goes to another person.
effect(() => {
  const now = session.value;
  if (now.state !== 'in') return;
  const viewer = `${now.viewer.user?.id ?? ''} ${now.viewer.key_id ?? ''}`;
  if (owner !== viewer) draft.value = null;
  owner = viewer;
});

// A page that is left with an edit asks first.
addEventListener('beforeunload', (event) => {
  if (draft.peek()) event.preventDefault();
});

async function put(sent: typeof changes.value, revision: string) {
  const options = { body: { changes: sent }, headers: { 'if-match': `"${revision}"` } };
  const result = await inTurn(() => send<Static<typeof tools.PolicyWrite>>('PUT', '/admin/policy/files', options));
  renewAll('/admin/policy');
  return result;
}

/** Writes the edit and puts it in force. @returns why it did not; null where it did */
export async function writeDraft(): Promise<ApiFailure | null> {
  const now = draft.peek();
  if (!now) return null;
  const result = await put(changes.peek(), now.revision);
  if (!result.ok) return result.failure;
  const { revision } = result.value;
  // What was typed since the request goes on from the written texts.
  const later = [...(draft.peek()?.edits ?? [])].map(([name, { base, text }]) => {
    return [name, { base: now.edits.get(name)?.text ?? base, text }] as const;
  });
  draft.value = draftOf(revision, later);
  toast(`Revision ${shortOf(revision)} is in force`, () => void takeBack(now, revision));
  return null;
}

/** Writes the texts of before. The edit is there again, so that nothing of it is lost. */
async function takeBack(written: PolicyDraft, revision: string): Promise<void> {
  const sent = [...written.edits].map(([name, { base }]) => ({ name, text: base }));
  const result = await put(sent, revision);
  if (!result.ok) return toast(`The edit was not taken back: ${result.failure.message}`);
  if (!draft.peek()) draft.value = { ...written, revision: result.value.revision };
  toast(`Revision ${shortOf(result.value.revision)} is in force again`);
}

/** Makes a patch of the edit and hands it to the browser. @returns why not; null where it did */
export async function downloadPatch(): Promise<ApiFailure | null> {
  const result = await inTurn(() => sendForText('POST', '/admin/policy/patch', { body: { changes: changes.peek() } }));
  if (!result.ok) return result.failure;
  const address = URL.createObjectURL(new Blob([result.value], { type: 'text/x-diff' }));
  const link = document.createElement('a');
  link.href = address;
  link.download = 'policy.patch';
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
  return null;
}
