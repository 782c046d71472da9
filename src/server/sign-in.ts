import type { Keys } from '../access/keys.ts';
import { openLogins } from '../access/logins.ts';
import type { People } from '../access/people.ts';
import { SignIn } from '../access/sign-in/sign-in.ts';
import type { LoginDesk } from '../admin/use-cases/logins.ts';
import type { Gateway } from '../gateway/request/gateway.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { OpenStore } from '../store/driver.ts';
import type { Host } from './host.ts';

interface SignInResources {
  readonly store: OpenStore;
  readonly keys: Keys;
  readonly people: People;
  readonly log: Log;
  readonly host: Pick<Host, 'env'>;
}

/** Opens the logins, and the sign-in that the active policy sets up. */
export async function openSignIn(
  { store, keys, people, log, host }: SignInResources,
  lease: Gateway['lease'],
): Promise<{ readonly signIn: SignIn; readonly logins: LoginDesk }> {
  const { now } = store.instance;
  const logins = await openLogins({ store, now });
  const policy = () => lease().snapshot;
  return {
    signIn: new SignIn({ policy, env: host.env, logins, keys, people, now, log }),
    logins: { logins, keys, people },
  };
}
