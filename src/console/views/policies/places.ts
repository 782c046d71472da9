import { signal } from '@preact/signals';
import { hrefOf, type Params } from '../../shell/router.ts';

/** Addresses within the view Policies. */
export const fileHref = (name: string, params: Params = {}): string =>
  hrefOf(`/policies/files/${encodeURIComponent(name)}`, params);

export const placeHref = ({
  file,
  line,
  column,
}: {
  readonly file: string;
  readonly line: number;
  readonly column?: number;
}): string =>
  fileHref(file, { line: String(line), column: column === undefined || column === 1 ? null : String(column) });

export const revisionHref = (revision: string, params: Params = {}): string =>
  hrefOf(`/policies/revisions/${encodeURIComponent(revision)}`, params);

/** Names the active policy, the files on disk or the viewer's edit in a comparison, instead of a stored revision. */
export const RUNNING = 'running';
export const DISK = 'disk';
export const EDIT = 'edit';

export const diffHref = (a: string, b: string): string => hrefOf('/policies/diff', { a, b });

/** Counts clicks on links to a location, so that a second click on the same link goes there again. */
export const waysTaken = signal(0);

/** Shortens a revision for people. */
export const shortOf = (revision: string): string => revision.slice(0, 8);
