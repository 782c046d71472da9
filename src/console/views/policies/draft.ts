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

/**
 * The edit of a single file. A text that is null means that the file does not exist: before the edit if the file is new, or after the edit
 * if the edit removes the file.
 */
interface DraftEdit {
  /** The text with which the edit started. */
  readonly base: string | null;
  readonly text: string | null;
}

/** An edit of the policy that has not been saved. Only the page's memory contains it. */
export interface PolicyDraft {
  /** The revision with which the edit started. */
  readonly revision: string;
  readonly edits: ReadonlyMap<string, DraftEdit>;
}

/** The draft is null if there is no edit. */
export const draft = signal<PolicyDraft | null>(null);

/** The edited files in the form that the admin API accepts. */
export const changes = computed(() =>
  [...(draft.value?.edits ?? [])]
    .map(([name, { text }]) => ({ name, text }))
    .sort((a, b) => (a.name < b.name ? -1 : 1)),
);

/** The body that makes a policy tool use the edit. */
export const changesBody = () => (changes.value.length === 0 ? {} : { changes: changes.value });

/** Leaves out files whose text has not changed. A later edit of a file replaces an earlier one. Returns null if no file has changed. */
function draftOf(revision: string, edits: Iterable<readonly [string, DraftEdit]>): PolicyDraft | null {
  const changed = new Map([...new Map(edits)].filter(([, { base, text }]) => base !== text));
  return changed.size === 0 ? null : { revision, edits: changed };
}

const storedIn = ({ files }: PolicyFiles, name: string): string | null =>
  files.find((file) => file.name === name)?.text ?? null;

/** Stores the new text of a file in the edit. */
export function edit(files: PolicyFiles, name: string, text: string | null): void {
  const now = draft.peek() ?? { revision: files.revision, edits: new Map<string, DraftEdit>() };
  const base = now.edits.has(name) ? (now.edits.get(name)?.base ?? null) : storedIn(files, name);
  draft.value = draftOf(now.revision, [...now.edits, [name, { base, text }]]);
}

/** Makes the stored files the base of an edit, so that saving the edit replaces the stored files. */
export function rebase(files: PolicyFiles, texts: ReadonlyMap<string, string | null>): void {
  const edits = [...texts].map(([name, text]) => [name, { base: storedIn(files, name), text }] as const);
  draft.value = draftOf(files.revision, edits);
}

/** The text of a file in the edit; null if the file is removed or unknown. */
export function textOf(files: PolicyFiles, edits: PolicyDraft['edits'] | undefined, name: string): string | null {
  const edited = edits?.get(name);
  return edited ? edited.text : storedIn(files, name);
}

/** The names of all files, including new and removed files. */
export const namesOf = ({ files }: PolicyFiles, edits: PolicyDraft['edits'] | undefined): readonly string[] =>
  [...new Set([...files.map(({ name }) => name), ...(edits?.keys() ?? [])])].sort();

/** The person who made the edit. */
let owner = '';

// The edit of the policy stays if the login ends while the page is open, but is deleted if another person signs in.
effect(() => {
  const now = session.value;
  if (now.state !== 'in') return;
  const viewer = `${now.viewer.user?.id ?? ''} ${now.viewer.key_id ?? ''}`;
  if (owner !== viewer) draft.value = null;
  owner = viewer;
});

// The browser asks for confirmation before the viewer leaves the page with an unsaved edit.
addEventListener('beforeunload', (event) => {
  if (draft.peek()) event.preventDefault();
});

async function put(sent: typeof changes.value, revision: string) {
  const options = { body: { changes: sent }, headers: { 'if-match': `"${revision}"` } };
  const result = await inTurn(() => send<Static<typeof tools.PolicyWrite>>('PUT', '/admin/policy/files', options));
  renewAll('/admin/policy');
  return result;
}

/**
 * Saves the edit and activates it.
 * @returns why the change failed; null if it succeeded
 */
export async function writeDraft(): Promise<ApiFailure | null> {
  const now = draft.peek();
  if (!now) return null;
  const result = await put(changes.peek(), now.revision);
  if (!result.ok) return result.failure;
  const { revision } = result.value;
  // Text that the viewer typed while the request was running becomes an edit of the saved text.
  const later = [...(draft.peek()?.edits ?? [])].map(([name, { base, text }]) => {
    return [name, { base: now.edits.get(name)?.text ?? base, text }] as const;
  });
  draft.value = draftOf(revision, later);
  toast(`Revision ${shortOf(revision)} is active`, () => void takeBack(now, revision));
  return null;
}

/** Saves the earlier texts again, and restores the edit so that nothing is lost. */
async function takeBack(written: PolicyDraft, revision: string): Promise<void> {
  const sent = [...written.edits].map(([name, { base }]) => ({ name, text: base }));
  const result = await put(sent, revision);
  if (!result.ok) return toast(`Undoing the edit failed: ${result.failure.message}`);
  if (!draft.peek()) draft.value = { ...written, revision: result.value.revision };
  toast(`Revision ${shortOf(result.value.revision)} is active again`);
}

/**
 * Downloads a patch of the edit.
 * @returns why the change failed; null if it succeeded
 */
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
