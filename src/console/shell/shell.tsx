import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { failureOf } from '../api/failure.ts';
import { Failure, NoPermission, Skeleton } from '../design/states.tsx';
import { Toasts } from '../design/toast.tsx';
import { VIEWS } from '../views.ts';
import { Rail } from './rail.tsx';
import { followLinks, hrefOf, path } from './router.ts';
import { mayView, openSession, session } from './session.ts';
import { SignIn } from './sign-in.tsx';
import { useOpeningRange } from './traffic.ts';
import type { ConsoleView } from './view.ts';
import { ViewBoundary } from './view-error.tsx';
import { ViewHead } from './view-head.tsx';

const viewAbove = (at: string): ConsoleView | null =>
  VIEWS.find((view) => view.path !== '/' && at.startsWith(`${view.path}/`)) ?? null;

function viewAt(at: string): ConsoleView | null {
  const above = viewAbove(at);
  return VIEWS.find((view) => view.path === at) ?? (above?.hasParts ? above : null);
}

/** The frame of all views, or the door. */
export function Shell() {
  const now = session.value;
  const view = viewAt(path.value);
  useEffect(() => {
    // Its code comes while the gateway is asked who looks.
    view?.load().catch(() => {});
    document.addEventListener('click', followLinks);
    return () => document.removeEventListener('click', followLinks);
  }, []);
  useEffect(() => {
    const title = now.state === 'out' ? 'Sign in' : (view?.title ?? 'Not found');
    document.title = `${title} · Signalbox`;
  }, [view, now.state]);
  if (now.state === 'out') return <SignIn />;
  return (
    <div class="shell">
      <a class="skip button" href="#content">
        Skip to the content
      </a>
      <Rail view={view} />
      <main class="content" id="content" tabIndex={-1}>
        {now.state === 'loading' ? (
          <Skeleton rows={8} />
        ) : now.state === 'failed' ? (
          <Failure what="The console" failure={now.failure} onRetry={() => void openSession()} />
        ) : (
          <ViewBoundary key={view?.name} view={view}>
            <ViewPlace view={view} />
          </ViewBoundary>
        )}
      </main>
      <Toasts />
    </div>
  );
}

type LoadState = { readonly View: ComponentType } | 'loading' | 'failed';

/** A view whose code comes when it is opened. */
function ViewPlace({ view }: { readonly view: ConsoleView | null }) {
  const [state, setState] = useState<LoadState>('loading');
  const [turn, setTurn] = useState(0);
  const isAllowed = view !== null && mayView(view.action);
  const isReady = useOpeningRange(view, isAllowed);
  useEffect(() => {
    if (!view || !isAllowed) return;
    let isWanted = true;
    view.load().then(
      ({ default: View }) => isWanted && setState({ View }),
      () => isWanted && setState('failed'),
    );
    return () => {
      isWanted = false;
    };
  }, [view, isAllowed, turn]);
  if (!view) return <NoSuchPage />;
  if (!isAllowed) {
    return (
      <div class="stack">
        <ViewHead title={view.title} summary="" hasRange={false} />
        <NoPermission what={view.title} who={view.who ?? ''} />
      </div>
    );
  }
  if (state === 'failed') {
    const failure = failureOf('unreachable', 'Its code did not arrive. After an upgrade, reload the page.');
    return <Failure what={view.title} failure={failure} onRetry={() => setTurn((now) => now + 1)} />;
  }
  if (state === 'loading' || !isReady) {
    return (
      <div class="stack">
        <ViewHead title={view.title} summary="" hasRange={false} />
        <Skeleton rows={8} />
      </div>
    );
  }
  return <state.View />;
}

/** Leads to the view that the address begins with. */
function NoSuchPage() {
  const near = viewAbove(path.value);
  const isOpen = near !== null && mayView(near.action);
  return (
    <div class="state">
      <h1>No such page</h1>
      <p>
        The console has nothing at {path.value}.{' '}
        {isOpen ? <a href={hrefOf(near.path)}>Go to {near.title}</a> : <a href={hrefOf('/')}>Go to the overview</a>}
      </p>
    </div>
  );
}
