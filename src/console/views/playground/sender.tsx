import type { ApiFailure } from '../../api/failure.ts';
import type { ReadOf } from '../../api/reads.ts';
import { useResource } from '../../api/resource.ts';
import { Button } from '../../design/button.tsx';
import { Select } from '../../design/field.tsx';
import { Failure, Skeleton } from '../../design/states.tsx';
import { hrefOf } from '../../shell/router.ts';
import { reachOfViewer, session } from '../../shell/session.ts';

type OwnKey = Pick<ReadOf<'/admin/keys'>['data'][number], 'id' | 'name' | 'scopes'>;

/** Keys that requests can be sent as: a person's own, or the key itself, as far as they work. */
export interface OwnKeys {
  /** Null while they are on their way. */
  readonly keys: readonly OwnKey[] | null;
  readonly chosen: OwnKey | null;
  readonly maySend: boolean;
  /** Of the list, where it could not be read. */
  readonly failure: ApiFailure | null;
  renew(): void;
  /** ID of the person; null for a key that has signed in. */
  readonly user: string | null;
}

/** @param id the key of the address; '' for the first */
export function useOwnKeys(id: string): OwnKeys {
  const maySend = reachOfViewer('playground.send') !== null;
  const now = session.value;
  const viewer = now.state === 'in' ? now.viewer : null;
  const user = viewer?.user?.id ?? null;
  const listed = useResource(
    '/admin/keys',
    { user, state: 'valid', limit: 100 },
    { isWanted: maySend && user !== null },
  );
  const itself = useResource(
    `/admin/keys/${viewer?.key_id ?? ''}`,
    {},
    { isWanted: maySend && viewer?.key_id != null },
  );
  const { failure, renew } = user === null ? itself : listed;
  const all = user === null ? itself.data && [itself.data] : (listed.data?.data ?? null);
  const keys: readonly OwnKey[] | null = maySend ? all : [];
  return { keys, chosen: keys?.find((key) => key.id === id) ?? keys?.[0] ?? null, maySend, failure, renew, user };
}

interface SenderProps {
  readonly own: OwnKeys;
  onKey(id: string): void;
  readonly isStreamed: boolean;
  /** False for vectors, which come as one. */
  readonly canStream: boolean;
  onStreamed(isStreamed: boolean): void;
  readonly isReady: boolean;
  readonly isUnderWay: boolean;
  onSend(): void;
  onStop(): void;
}

/** Which key sends, and the button. Those who cannot send are told who can. */
export function Sender(props: SenderProps) {
  const { own, onKey, isStreamed, canStream, onStreamed, isReady, isUnderWay, onSend, onStop } = props;
  if (!own.maySend) {
    return (
      <div class="playground-sender">
        <h3>Your role sees decisions, and sends nothing</h3>
        <p class="dim">Owners, admins, team leads and members send requests here, each as a key of their own.</p>
      </div>
    );
  }
  if (own.keys === null) {
    if (own.failure) return <Failure what="Your keys" failure={own.failure} onRetry={own.renew} />;
    return <Skeleton rows={2} />;
  }
  if (!own.chosen) {
    return (
      <div class="playground-sender">
        <h3>No key of your own</h3>
        <p class="dim">
          A request is sent as a key that belongs to you, and charged to it.{' '}
          <a href={hrefOf('/people/keys/new', { user: own.user })}>Make a key</a>
        </p>
      </div>
    );
  }
  const lacksScope = !own.chosen.scopes.some((scope) => scope === 'chat' || scope === 'admin');
  return (
    <div class="playground-sender">
      <Select
        label="Send as your key"
        value={own.chosen.id}
        onValue={onKey}
        options={own.keys.map(({ id, name }) => ({ value: id, label: `${name} (${id})` }))}
        hint={
          lacksScope ? 'This key lacks the scope chat.' : 'With its scopes, models, money and limits. It is charged.'
        }
      />
      <div class="row row-apart">
        <label class="row">
          <input
            type="checkbox"
            checked={isStreamed && canStream}
            disabled={!canStream}
            onChange={(event) => onStreamed(event.currentTarget.checked)}
          />
          Stream
        </label>
        {isUnderWay ? (
          <Button kind="danger" onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button kind="first" disabled={!isReady} onClick={onSend}>
            Send request
          </Button>
        )}
      </div>
    </div>
  );
}
