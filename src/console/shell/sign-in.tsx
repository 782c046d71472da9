import { useState } from 'preact/hooks';
import { BASE, CONSOLE, ISSUER } from '../api/base.ts';
import { Button, ButtonLink } from '../design/button.tsx';
import { Field } from '../design/field.tsx';
import { Logo } from './rail.tsx';
import { signInByKey } from './session.ts';

/** The sign-in page: OpenID if the policy configures it, and an admin key. */
export function SignIn() {
  const [key, setKey] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (key === '' || isBusy) return;
    setBusy(true);
    const refused = await signInByKey(key);
    setBusy(false);
    setKey('');
    setProblem(refused);
  };
  // After signing in, the server redirects to the page that the link pointed to.
  const back = `${BASE}/console/sign-in?${new URLSearchParams({ return_to: CONSOLE + location.pathname.slice(CONSOLE.length) + location.search })}`;
  return (
    <main class="door">
      <div class="card">
        <div class="stack-tight">
          <p class="row dim">
            <Logo /> Signalbox
          </p>
          <h1>Sign in</h1>
        </div>
        {ISSUER !== '' && (
          <>
            <ButtonLink kind="first" href={back}>
              Continue with {ISSUER}
            </ButtonLink>
            <div class="door-or">or</div>
          </>
        )}
        <form class="stack-tight" onSubmit={(event) => void submit(event)}>
          <Field
            label="Key with the scope admin or report"
            type="password"
            value={key}
            onValue={setKey}
            error={problem}
            hint="Signalbox exchanges the key for a login. The browser does not store the key."
          />
          <Button type="submit" {...(ISSUER === '' && { kind: 'first' as const })} disabled={isBusy}>
            Sign in with the key
          </Button>
        </form>
      </div>
    </main>
  );
}
