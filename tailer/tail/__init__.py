"""The loop: look, plan, learn, deliver, save."""
