-- The trace that wrote a callback, as W3C's traceparent, so that its attempts belong to it on whichever instance and however late they are made.
-- Written only where traces are configured.
alter table callbacks add column traceparent text;
