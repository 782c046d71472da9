import { useState } from 'preact/hooks';
import { useResource } from '../../api/resource.ts';
import { Button, ButtonLink } from '../../design/button.tsx';
import { Copy } from '../../design/copy.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { Select } from '../../design/field.tsx';
import { Panel } from '../../design/panel.tsx';
import { Loaded } from '../../design/states.tsx';
import { go, hrefOf, hrefWith, param } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { deed } from './deeds.ts';
import type { KeyAnswer } from './drafts.ts';
import { GrantForm } from './grant.tsx';
import { KeyBudgets } from './headroom.tsx';
import { KeyFacts } from './key-facts.tsx';
import { ChangeKey, MakeKey, type NewKey } from './key-form.tsx';
import { KeyTree } from './key-tree.tsx';
import { KeyUsage } from './key-usage.tsx';
import { RecentTrail } from './recent-trail.tsx';
import { keyName } from './words.ts';

interface KeyPanelProps {
  /** `new` for the form that makes one. */
  readonly id: string;
  readonly closeHref: string;
  readonly secret: string | null;
  onMade(made: NewKey): void;
  onChange(): void;
}

/** A key beside the list: what it is, what it has used, and what may be done with it. */
export function KeyPanel({ id, closeHref, secret, onMade, onChange }: KeyPanelProps) {
  const isNew = id === 'new';
  const key = useResource(`/admin/keys/${id}`, {}, { every: 10_000, isWanted: !isNew });
  if (isNew) {
    return (
      <Panel title="Make a key" closeHref={closeHref}>
        <MakeKey onDone={onMade} onClose={() => go(closeHref)} />
      </Panel>
    );
  }
  const isEdited = param('edit') !== '';
  const view = hrefWith({ edit: null });
  return (
    <Panel title={key.data ? keyName(key.data) : 'Key'} closeHref={closeHref}>
      {isEdited ? (
        <ChangeKey
          id={id}
          onClose={() => go(view)}
          onDone={() => {
            onChange();
            go(view);
          }}
        />
      ) : (
        <Loaded what="This key" of={key}>
          {(found) => (
            <div class="stack">
              {secret !== null && <Secret of={secret} />}
              <KeyDeeds of={found} onMade={onMade} onChange={onChange} />
              <KeyFacts of={found} />
              <section class="stack-tight">
                <h3>Budgets</h3>
                <KeyBudgets of={found} />
                {reachOfViewer('keys.grant') !== null && found.state !== 'revoked' && (
                  <GrantForm
                    path={`/admin/keys/${id}/grant`}
                    hint={
                      found.balance
                        ? 'Less than zero takes Credits back.'
                        : 'The first grant makes the key prepaid: it works as long as its balance lasts.'
                    }
                    touched={['/admin/keys', '/admin/ledger', '/admin/trail']}
                  />
                )}
              </section>
              <KeyUsage id={id} />
              <KeyTree of={found} />
              <RecentTrail subject={id} />
            </div>
          )}
        </Loaded>
      )}
    </Panel>
  );
}

/** The secret of a key that was just made or rotated. It is nowhere but in the memory of this page. */
const Secret = ({ of }: { readonly of: string }) => (
  <div class="notice people-secret" role="status">
    <p>
      <strong>Copy the secret now.</strong> It is shown this once: Signalbox keeps only its hash.
    </p>
    <Copy text={of} label="the secret" />
  </div>
);

type KeyQuestion = 'revoke' | 'rotate' | null;

const OVERLAPS = [
  { value: '86400', label: 'for a day' },
  { value: '3600', label: 'for an hour' },
  { value: '604800', label: 'for a week' },
  { value: '0', label: 'not at all' },
];

interface DeedProps {
  readonly of: KeyAnswer;
  onMade(made: NewKey): void;
  onChange(): void;
}

/** The buttons of a key, as far as the role may use them. */
function KeyDeeds({ of: key, onMade, onChange }: DeedProps) {
  const [asked, setAsked] = useState<KeyQuestion>(null);
  const [overlap, setOverlap] = useState('86400');
  const [isBusy, setBusy] = useState(false);
  const name = keyName(key);
  const path = `/admin/keys/${key.id}`;
  const isEnded = key.state === 'revoked' || key.state === 'expired';
  const mayChange = reachOfViewer('keys.change') !== null && key.state !== 'revoked';
  const maySuspend = reachOfViewer('keys.suspend') !== null && !isEnded;
  const act = async (work: () => Promise<unknown>) => {
    setBusy(true);
    await work();
    setBusy(false);
    // A question that was asked meanwhile stays.
    setAsked((now) => (now === asked ? null : now));
    onChange();
  };
  const suspend = (isSuspended: boolean, isUndo = false): Promise<void> =>
    act(() => {
      const said = isSuspended ? `${name} is suspended. Its requests get 403.` : `${name} works again.`;
      const undo = isUndo ? {} : { undo: () => void suspend(!isSuspended, true) };
      return deed(`${path}/${isSuspended ? 'suspend' : 'resume'}`, said, undo);
    });
  const rotate = () =>
    act(async () => {
      const made = await deed<NewKey>(`${path}/rotate`, `${name} has a new secret.`, {
        body: { overlap_seconds: Number(overlap) },
      });
      if (made) onMade(made);
    });
  return (
    <div class="row">
      {mayChange && <ButtonLink href={hrefWith({ edit: 'yes' })}>Change</ButtonLink>}
      {mayChange && !isEnded && <Button onClick={() => setAsked('rotate')}>Rotate</Button>}
      {maySuspend && (
        <Button disabled={isBusy} onClick={() => void suspend(key.state !== 'suspended')}>
          {key.state === 'suspended' ? 'Resume' : 'Suspend'}
        </Button>
      )}
      {reachOfViewer('decisions.list') !== null && (
        <ButtonLink kind="plain" href={hrefOf('/requests', { key: key.id })}>
          Its requests
        </ButtonLink>
      )}
      {mayChange && (
        <Button kind="danger" onClick={() => setAsked('revoke')}>
          Revoke
        </Button>
      )}
      {asked === 'revoke' && (
        <Dialog
          title={`Revoke ${name}?`}
          action="Revoke key"
          isBusy={isBusy}
          onClose={() => setAsked(null)}
          onAction={() => void act(() => deed(`${path}/revoke`, `${name} is revoked.`))}
        >
          Requests with it fail within a second, and so do those with keys below it. This cannot be undone.
        </Dialog>
      )}
      {asked === 'rotate' && (
        <Dialog
          title={`Rotate ${name}?`}
          action="Rotate key"
          isBusy={isBusy}
          onClose={() => setAsked(null)}
          onAction={() => void rotate()}
        >
          It gets a new secret, which is shown once.
          <Select label="The old secret works" value={overlap} options={OVERLAPS} onValue={setOverlap} />
        </Dialog>
      )}
    </div>
  );
}
