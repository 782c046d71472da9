import { useEffect, useState } from 'preact/hooks';
import { Button } from '../../design/button.tsx';
import { Empty } from '../../design/states.tsx';
import { State } from '../../design/tag.tsx';
import { toast } from '../../design/toast.tsx';
import { go, hrefOf } from '../../shell/router.ts';
import { type EditorCode, useEditorCode } from './code.tsx';
import { Comparison } from './comparison.tsx';
import { type DraftEdit, draft, type PolicyDraft, type PolicyFiles, rebase } from './draft.ts';
import { diffHref, EDIT, RUNNING, shortOf } from './places.ts';

interface JoinedFile {
  readonly name: string;
  readonly edit: DraftEdit;
  readonly theirs: string | null;
  readonly text: string | null;
  /** Lines in which both changed the same; null where one of the two removed the file. */
  readonly conflicts: readonly number[] | null;
}

/** Another edit came into force meanwhile: what it changed, what you changed, and both together. */
export function JoinPage({ files }: { readonly files: PolicyFiles }) {
  const { code } = useEditorCode();
  const now = draft.value;
  if (!now)
    return (
      <Empty title="You have no edit">
        Open a file to begin one. <a href={hrefOf('/policies')}>Show all files</a>
      </Empty>
    );
  if (now.revision === files.revision) {
    return (
      <Empty title="Nothing to join">
        No other edit came into force since you began. <a href={diffHref(RUNNING, EDIT)}>Review your edit</a>
      </Empty>
    );
  }
  return code ? <Join files={files} code={code} draftNow={now} /> : null;
}

/** A join that was begun, with what was written in it by hand: it is there again when the page is. */
interface BegunJoin {
  readonly draft: PolicyDraft;
  /** Those that it joins with. Others that come into force meanwhile are joined next. */
  readonly files: PolicyFiles;
  readonly parts: readonly JoinedFile[];
  readonly texts: ReadonlyMap<string, string | null>;
}
let begun: BegunJoin | null = null;

function begin(files: PolicyFiles, code: EditorCode, edited: PolicyDraft): BegunJoin {
  if (begun?.draft === edited) return begun;
  const parts = [...edited.edits].map(([name, edit]) => joinedFile(files, code, name, edit));
  return { draft: edited, files, parts, texts: new Map(parts.map(({ name, text }) => [name, text])) };
}

function Join({
  files: present,
  code,
  draftNow,
}: {
  readonly files: PolicyFiles;
  readonly code: EditorCode;
  readonly draftNow: PolicyDraft;
}) {
  const [join, setJoin] = useState(() => begin(present, code, draftNow));
  const { files, parts, texts } = join;
  const setText = (name: string, text: string | null) =>
    setJoin((now) => ({ ...now, texts: new Map(now.texts).set(name, text) }));
  useEffect(() => {
    begun = join;
  }, [join]);
  const [others, setOthers] = useState<Readonly<Record<string, 'theirs' | 'base' | 'mine'>>>({});
  const conflicts = parts.reduce((sum, { conflicts: lines }) => sum + (lines === null ? 1 : lines.length), 0);
  useEffect(() => document.querySelector('h1')?.scrollIntoView({ block: 'nearest' }), []);
  return (
    <div class="stack">
      <section class="card stack-tight">
        <h2>
          {conflicts === 0
            ? 'Both edits fit together.'
            : `Both edits changed the same ${conflicts === 1 ? 'place' : `${conflicts} places`}: your text stays there unless you change it.`}
        </h2>
        <p class="dim">
          You began from revision {shortOf(join.draft.revision)}; {shortOf(files.revision)} is in force now. Beside each
          text you see your edit with theirs in it. Change it as you like: nothing is written yet.
        </p>
        <div class="row">
          <Button
            kind="first"
            onClick={() => {
              const before = draft.peek();
              rebase(files, texts);
              toast(`Your edit goes on from revision ${shortOf(files.revision)}`, () => {
                draft.value = before;
              });
              go(diffHref(RUNNING, EDIT));
            }}
          >
            Go on from revision {shortOf(files.revision)}
          </Button>
        </div>
      </section>
      {parts.map(({ name, edit: { base, text: mine }, theirs, text, conflicts: lines }) => {
        const shown = others[name] ?? 'theirs';
        const side = { theirs, base, mine }[shown];
        return (
          <section class="card" key={name} aria-label={name}>
            <div class="card-head">
              <h2>
                {name} <ConflictState lines={lines} isSame={theirs === base} />
              </h2>
              <div class="row">
                {(['theirs', 'base', 'mine'] as const).map((one) => (
                  <Button
                    key={one}
                    {...(shown !== one && { kind: 'plain' as const })}
                    aria-pressed={shown === one}
                    onClick={() => setOthers({ ...others, [name]: one })}
                  >
                    {SIDES[one]}
                  </Button>
                ))}
              </div>
            </div>
            {text === null && texts.get(name) === null ? (
              <div class="row">
                <p>Your edit removes this file, and theirs changed it.</p>
                <Button onClick={() => setText(name, theirs)}>Keep theirs</Button>
              </div>
            ) : (
              <Comparison
                a={{ label: `${SIDES[shown]}, ${name}`, text: side ?? '' }}
                b={{ label: `Both together, ${name}`, text: texts.get(name) ?? '' }}
                onText={(next) => setText(name, next)}
              />
            )}
          </section>
        );
      })}
    </div>
  );
}

const SIDES = { theirs: 'Theirs', base: 'Where you began', mine: 'Yours' } as const;

const ConflictState = ({ lines, isSame }: { readonly lines: readonly number[] | null; readonly isSame: boolean }) =>
  isSame ? (
    <State tone="good">Not changed by them</State>
  ) : lines === null ? (
    <State tone="warn">Removed by one of you</State>
  ) : lines.length === 0 ? (
    <State tone="good">Joined</State>
  ) : (
    <State tone="warn">
      {lines.length === 1 ? 'Look at line' : 'Look at lines'} {lines.join(', ')}
    </State>
  );

function joinedFile({ files }: PolicyFiles, code: EditorCode, name: string, edit: DraftEdit): JoinedFile {
  const theirs = files.find((file) => file.name === name)?.text ?? null;
  const { base, text: mine } = edit;
  if (theirs === base) return { name, edit, theirs, text: mine, conflicts: [] };
  if (mine === null || theirs === null) return { name, edit, theirs, text: mine, conflicts: null };
  return { name, edit, theirs, ...code.joined(base ?? '', mine, theirs) };
}
