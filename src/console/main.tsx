import { render } from 'preact';
import { BASE } from './base.ts';
import './main.css';

const root = document.getElementById('app');
if (root) {
  render(
    <main>
      <h1>Signalbox</h1>
      <a href={`${BASE}docs`}>API documentation</a>
    </main>,
    root,
  );
}
