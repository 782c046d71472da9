import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { ReadOf, ReadPath } from '../api/reads.ts';
import { RENEWAL_MS, useResource } from '../api/resource.ts';
import { Panel } from '../design/panel.tsx';
import { Loaded } from '../design/states.tsx';
import { go, hrefWith, param } from '../shell/router.ts';
import type { Draft } from './draft.ts';
import type { FormPart } from './field.ts';
import { ChangeForm, MakeForm } from './form.tsx';
import type { Place } from './listing.tsx';

interface DetailProps<Path extends ReadPath> {
  readonly place: Pick<Place<ReadOf<Path>>, 'id' | 'closeHref' | 'put' | 'made'>;
  /** The singular noun: "key". */
  readonly noun: string;
  readonly path: Path;
  readonly title: (found: ReadOf<Path>) => string;
  /** The form that changes the item when the address has `edit`; absent if nothing can be changed. */
  readonly form?: {
    /** The path to which a new item is sent. */
    readonly path: string;
    readonly parts: (isNew: boolean) => readonly FormPart[];
    /** Members of a new item that the address sets. */
    readonly stated?: Draft;
    /** Called with the response before the new item is opened. */
    onMade?(answer: unknown): void;
  };
  readonly children: (found: ReadOf<Path>) => ComponentChildren;
}

/**
 * The detail of a list: shows one item and keeps it up to date, changes it if the address has `edit`, or creates one if the ID is `new`.
 * @example
 * <Detail
 *   place={place}
 *   noun="member"
 *   path={`/admin/users/${place.id}`}
 *   title={({ name }) => name}
 *   form={{
 *     path: '/admin/users',
 *     parts: () => [
 *       { of: 'name', label: 'Name' },
 *       [{ of: 'role', label: 'Role', options: optionsOf(ROLE_WORDS), usual: 'member' }, TEAM],
 *     ],
 *   }}
 * >
 *   {(found) => <Facts of={found} facts={['id', ['Created', 'created_at']]} />}
 * </Detail>
 */
export function Detail<Path extends ReadPath>({ place, noun, path, title, form, children }: DetailProps<Path>) {
  const isNew = place.id === 'new';
  const found = useResource(path, {}, { every: RENEWAL_MS, isWanted: !isNew });
  // After a change, the detail also updates the row of the list.
  useEffect(() => {
    if (found.data) place.put(found.data);
  }, [found.data]);
  const view = hrefWith({ edit: null });
  const close = () => go(isNew ? place.closeHref : view);
  const what = `This ${noun}`;
  if (isNew && form) {
    return (
      <Panel title={`Create a ${noun}`} closeHref={place.closeHref}>
        <MakeForm
          parts={form.parts(true)}
          {...(form.stated && { stated: form.stated })}
          path={form.path}
          action={`Create ${noun}`}
          onDone={(answer) => {
            form.onMade?.(answer);
            // Every response to a creation contains the ID.
            place.made((answer as { readonly id: string }).id);
          }}
          onClose={close}
        />
      </Panel>
    );
  }
  const name = found.data ? title(found.data) : noun.charAt(0).toUpperCase() + noun.slice(1);
  return (
    <Panel title={name} closeHref={place.closeHref}>
      {form && param('edit') !== '' ? (
        <ChangeForm what={what} path={path} parts={form.parts(false)} onDone={close} onClose={close} />
      ) : (
        <Loaded what={what} of={found}>
          {(data) => <div class="stack">{children(data)}</div>}
        </Loaded>
      )}
    </Panel>
  );
}
