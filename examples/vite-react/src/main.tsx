import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Digits } from './Digits';
import './style.css';

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <Digits />
  </StrictMode>,
);
