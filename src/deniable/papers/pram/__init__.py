"""Nayak, Zhang & Adeshiyan (2016), PRAM and the theory of channels: studies, figures."""
