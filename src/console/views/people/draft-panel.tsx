import type { ComponentChildren } from 'preact';
import type { ReadOf, ReadPath } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { Panel } from '../../design/panel.tsx';
import { Loaded } from '../../design/states.tsx';
import { go, hrefWith, param } from '../../shell/router.ts';
import { ChangeForm, DraftForm, type ErrorAt } from './form.tsx';

/** Something of a list, in its panel: `id` is `new` for what is yet to be made. */
export interface PanelPlace {
  readonly id: string;
  readonly closeHref: string;
  onMade(id: string): void;
  onChange(): void;
}

export interface DraftFieldsProps<Draft> {
  readonly draft: Draft;
  set(part: Partial<Draft>): void;
  readonly errorAt: ErrorAt;
}

interface DraftPanelProps<Path extends ReadPath, Draft extends object> {
  readonly place: PanelPlace;
  /** The word for one: "team". */
  readonly noun: string;
  /** "This team". */
  readonly what: string;
  /** Where one is made. */
  readonly list: string;
  /** Where this one is read and changed. */
  readonly path: Path;
  titleOf(value: ReadOf<Path>): string;
  /** The draft of a new one. */
  readonly none: Draft;
  draftOf(value: ReadOf<Path>): Draft;
  bodyOf(draft: Draft, before: Draft): Readonly<Record<string, unknown>>;
  /** Paths of fields that show their own messages. */
  readonly known: readonly string[];
  fields(props: DraftFieldsProps<Draft>): ComponentChildren;
  readonly children: (value: ReadOf<Path>) => ComponentChildren;
}

/** A person or a team beside the list: made, shown, and changed where the address says `edit`. */
export function DraftPanel<Path extends ReadPath, Draft extends object>(props: DraftPanelProps<Path, Draft>) {
  const { place, noun, what, list, path, titleOf, none, draftOf, bodyOf, known, fields, children } = props;
  const isNew = place.id === 'new';
  const found = useResource(path, {}, { every: 10_000, isWanted: !isNew });
  const view = hrefWith({ edit: null });
  const form = (draft: Draft, set: (part: Partial<Draft>) => void, errorAt: ErrorAt) => fields({ draft, set, errorAt });
  if (isNew) {
    return (
      <Panel title={`Make a ${noun}`} closeHref={place.closeHref}>
        <DraftForm<Draft, { readonly id: string }>
          first={none}
          bodyOf={(draft) => bodyOf(draft, none)}
          method="POST"
          path={list}
          action={`Make ${noun}`}
          known={known}
          onDone={(made) => made && place.onMade(made.id)}
          onClose={() => go(place.closeHref)}
        >
          {form}
        </DraftForm>
      </Panel>
    );
  }
  const title = found.data ? titleOf(found.data) : noun.charAt(0).toUpperCase() + noun.slice(1);
  return (
    <Panel title={title} closeHref={place.closeHref}>
      {param('edit') === '' ? (
        <Loaded what={what} of={found}>
          {children}
        </Loaded>
      ) : (
        <ChangeForm
          what={what}
          path={path}
          draftOf={draftOf}
          bodyOf={bodyOf}
          known={known}
          onClose={() => go(view)}
          onDone={() => {
            place.onChange();
            go(view);
          }}
        >
          {form}
        </ChangeForm>
      )}
    </Panel>
  );
}
