import { computed, effect, signal } from '@preact/signals';
import type { ReadOf } from '../../api/reads.ts';
import { session } from '../../shell/session.ts';

export type PolicyFiles = ReadOf<'/admin/policy/files'>;

/** The edit of one file. Null is a file that is not there: before, a new one; after, one that is removed. */
export interface DraftEdit {
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

/** Notes the text of a file; one that is as it was is no edit. */
export function edit({ revision, files }: PolicyFiles, name: string, text: string | null): void {
  const now = draft.peek() ?? { revision, edits: new Map<string, DraftEdit>() };
  const known = now.edits.get(name);
  const base = known ? known.base : (files.find((file) => file.name === name)?.text ?? null);
  const edits = new Map(now.edits);
  if (base === text) edits.delete(name);
  else edits.set(name, { base, text });
  draft.value = edits.size === 0 ? null : { ...now, edits };
}

/** Makes an edit of the stored files, whatever it began from: so its texts can be saved over them. */
export function rebase({ revision, files }: PolicyFiles, texts: ReadonlyMap<string, string | null>): void {
  const edits = new Map<string, DraftEdit>();
  for (const [name, text] of texts) {
    const base = files.find((file) => file.name === name)?.text ?? null;
    if (base !== text) edits.set(name, { base, text });
  }
  draft.value = edits.size === 0 ? null : { revision, edits };
}

/** The text of a file with the edit; null where it is removed or unknown. */
export function textOf({ files }: PolicyFiles, edits: PolicyDraft['edits'] | undefined, name: string): string | null {
  const edited = edits?.get(name);
  return edited ? edited.text : (files.find((file) => file.name === name)?.text ?? null);
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
